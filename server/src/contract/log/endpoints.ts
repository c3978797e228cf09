import { declareEndpoints } from '../endpoint.ts'
import { Type } from '../type.ts'
import { logExportParameters, logPageParameters } from './query.ts'
import { LogEntityType, LogPage } from './schemas.ts'

export const logEndpoints = declareEndpoints({
  listLogs: {
    summary: 'Read the log, newest first',
    tag: 'Log',
    method: 'GET',
    path: '/logs',
    permission: 'log:read',
    logs: { entityType: 'log' },
    isPage: true,
    query: logPageParameters,
    reply: LogPage,
    status: 200,
  },

  listLogEntityTypes: {
    summary: 'List what records of the log are about',
    tag: 'Log',
    method: 'GET',
    path: '/logs/entity-types',
    permission: 'log:read',
    logs: { entityType: 'log' },
    reply: Type.Array(LogEntityType),
    status: 200,
  },

  exportLogs: {
    summary: 'Export the log, oldest first, a record on each line',
    tag: 'Log',
    method: 'GET',
    path: '/logs/export',
    permission: 'log:read',
    logs: { entityType: 'log' },
    isPage: true,
    query: logExportParameters,
    reply: Type.String({
      description:
        'Records as NDJSON, and between and after them lines {"next":"<cursor>"}, at which an export can be resumed.',
    }),
    replyType: 'application/x-ndjson',
    replyExample: '{"next":"AAAAAAAAABs"}\n',
    status: 200,
  },
})
