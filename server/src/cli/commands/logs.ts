import { setTimeout } from 'node:timers/promises'
import { ConfigError } from '../../config/config-error.ts'
import { logFilterParameters, readLogExportQuery, readLogPageQuery } from '../../contract/log/query.ts'
import type { QueryPair } from '../../contract/query-pairs.ts'
import type { ActKind } from '../../domain/acts/act.ts'
import { isJsonObject, type Json, type JsonObject } from '../../domain/json/json.ts'
import { LogExport } from '../../operations/log/export-logs.ts'
import { listLogs } from '../../operations/log/list-logs.ts'
import { readingLog } from '../../operations/log/reading-operator.ts'
import { StoreUnavailableError } from '../../store/port.ts'
import type { Invocation, Run } from '../command.ts'
import { print, printNote, table } from '../print.ts'
import { stopSignal } from '../signals.ts'
import { withVault } from '../storage/with-vault.ts'

const act = (operation: string): ActKind => ({ operation, entityType: 'log' })

/** How often `--follow` looks for new records, and tries again if storage does not answer. */
const pollMs = 500

export const logsList: Run = invocation =>
  withVault(invocation.config, async vault => {
    const query = readLogPageQuery(pairsOf(invocation))
    const tenant = tenantOf(invocation)
    const page = await readingLog(vault, tenant, act('logs list'), async reader => {
      // A page of the interface examines few enough records to be answered soon. Here there is time to fill it.
      let found = await listLogs(vault, reader, query)
      while (found.data.length < query.size && found.pagination.next !== undefined) {
        const size = query.size - found.data.length
        const more = await listLogs(vault, reader, { ...query, start: found.pagination.next, size })
        found = {
          pagination: { ...more.pagination, page_size: query.size },
          data: [...found.data, ...more.data],
        }
      }
      return found
    })
    print(
      invocation.flags.json,
      page,
      table([['at', 'operation', 'result', 'actor', 'about', 'source'], ...page.data.map(cellsOf)]),
    )
    const { next } = page.pagination
    if (next !== undefined && invocation.flags.json !== true)
      printNote('logs list', `there are older ones: add --start ${next}`)
    return 0
  })

const cellsOf = (entry: JsonObject): string[] => {
  const { at, operation, result, actor_type: type, actor_id: actor, source } = entry
  const { entity_type: entityType, entity_id: entity = '' } = entry
  const ip = isJsonObject(source ?? null) ? (source as JsonObject).ip : undefined
  return [at, operation, result, actor ?? type, `${textOf(entityType)} ${textOf(entity)}`.trim(), ip].map(
    textOf,
  )
}

const textOf = (value: Json | undefined): string => (value === undefined ? '' : String(value))

export const logsExport: Run = invocation =>
  withVault(invocation.config, async vault => {
    const follows = invocation.flags.follow === true
    const query = readLogExportQuery(pairsOf(invocation))
    // What is signed on top of storage that was rolled back would be one more future.
    await vault.anchoring.requireOurs()
    return readingLog(vault, tenantOf(invocation), act('logs export'), async reader => {
      const lines = new LogExport(vault, reader, query)
      // Before the first line is written, and because `--follow` has no end.
      await vault.acts.record(reader, reader.act)
      const stopped = new AbortController()
      const { signal } = stopped
      if (follows) void stopSignal(['SIGINT', 'SIGTERM']).then(() => stopped.abort())
      for (let isFirst = true; ; isFirst = false) {
        const isRead = await writeLines(lines, { signal, isFirst, follows })
        if (!isRead || !follows || lines.isOver) return 0
        await setTimeout(pollMs, undefined, { signal }).catch(() => undefined)
      }
    })
  })

type Pass = { readonly signal: AbortSignal; readonly isFirst: boolean; readonly follows: boolean }

/** Writes what there is now. Resolves with false if the export is to end: it was stopped, or nobody reads it any more. */
const writeLines = async (lines: LogExport, { signal, isFirst, follows }: Pass): Promise<boolean> => {
  try {
    for await (const piece of lines.lines({ endsAnyway: isFirst })) {
      if (!(await written(piece))) return false
      if (!signal.aborted) continue
      await written(lines.cursorLine)
      return false
    }
  } catch (error) {
    if (!follows || !(error instanceof StoreUnavailableError)) throw error
    printNote('logs export', `storage does not answer, and is tried again: ${error.outage}`)
  }
  return !signal.aborted
}

/** Resolves once the text is out of this process, so that no more is read than is taken; with false if it is taken no more. */
const written = (text: string): Promise<boolean> =>
  new Promise(resolve => {
    process.stdout.write(text, error => resolve(!(error instanceof Error)))
  })

/** Options are the parameters of the interface, with dashes. */
const pairsOf = ({ options }: Invocation): QueryPair[] =>
  [...logFilterParameters.map(({ name }) => name), 'start', 'size'].flatMap(name => {
    const value = options[name.replaceAll('_', '-')]
    return value === undefined ? [] : [{ name, value }]
  })

/** An unset variable must not lead to another log. */
const tenantOf = ({ options: { tenant } }: Invocation): string | undefined => {
  if (tenant === '') throw new ConfigError('--tenant is empty; without it, the log of the operator is read')
  return tenant
}
