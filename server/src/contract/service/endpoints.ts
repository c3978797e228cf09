import { declareEndpoints } from '../endpoint.ts'
import { anyJson } from '../schema.ts'
import { Type } from '../type.ts'

export const serviceEndpoints = declareEndpoints({
  health: {
    summary: 'Is the process up?',
    tag: 'Service',
    method: 'GET',
    path: '/health',
    permission: 'open',
    logs: 'no act',
    isProbe: true,
    reply: Type.Object({ status: Type.Literal('up') }),
    status: 200,
  },

  ready: {
    summary: 'Do storage and the key service answer?',
    tag: 'Service',
    method: 'GET',
    path: '/ready',
    permission: 'open',
    logs: 'no act',
    isProbe: true,
    reply: Type.Object({
      status: Type.Literal('ready'),
      anchors: Type.Optional(
        Type.Unsafe<'failing' | 'stopped'>({
          type: 'string',
          enum: ['failing', 'stopped'],
          description:
            "The log's checkpoints do not reach an anchor: it cannot be written (failing), or it holds what is not this vault's past (stopped).",
        }),
      ),
    }),
    status: 200,
    problems: ['unavailable'],
  },

  openapi: {
    summary: 'This interface as an OpenAPI document',
    tag: 'Service',
    method: 'GET',
    path: '/openapi.json',
    permission: 'open',
    logs: 'no act',
    reply: anyJson(),
    status: 200,
  },

  docs: {
    summary: 'This interface as a page to read',
    tag: 'Service',
    method: 'GET',
    path: '/docs',
    permission: 'open',
    logs: 'no act',
    reply: Type.String(),
    replyType: 'text/html',
    status: 200,
  },

  home: {
    summary: 'Go to the page to read',
    tag: 'Service',
    method: 'GET',
    path: '/',
    permission: 'open',
    logs: 'no act',
    reply: Type.String(),
    replyType: 'text/plain',
    status: 303,
    location: '/docs',
  },
})
