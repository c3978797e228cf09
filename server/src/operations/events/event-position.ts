import { exactly, openLogState, sealLogState } from '../../crypto/cursor.ts'
import type { StartedLogHead } from '../../store/port.ts'
import type { LogOwner } from '../log/log-owner.ts'
import type { Vault } from '../vault/vault.ts'

/** Where reading goes on in a writer's records, and how many events of that record were told already. */
export type WriterPlace = { readonly next: number; readonly told: number }

/** How far the events of a log were read, by writer. A writer that is missing has only events that are still to come. */
export type EventPosition = ReadonlyMap<number, WriterPlace>

type Sealing = Pick<Vault, 'vaultKeys'>

/** A position as it is sealed: the writer, the next record, and how many of its events were told if some were. */
export const writersOf = (position: EventPosition): (readonly [number, number, number?])[] =>
  [...position].map(([writer, { next, told }]) => (told === 0 ? [writer, next] : [writer, next, told]))

export const positionFrom = (writers: ReturnType<typeof writersOf>): EventPosition =>
  new Map(writers.map(([writer, next, told = 0]) => [writer, { next, told }]))

const feed = 'feed'

export const sealEventCursor = (
  { vaultKeys }: Sealing,
  { keys: { tenantId } }: LogOwner,
  position: EventPosition,
): string => sealLogState(vaultKeys, { tenantId, boundTo: feed }, writersOf(position)).toString('base64url')

/** Undefined unless it is a cursor of this feed. */
export const openEventCursor = (
  { vaultKeys }: Sealing,
  { keys: { tenantId } }: LogOwner,
  text: string,
): EventPosition | undefined => {
  const writers = openLogState(vaultKeys, { tenantId, boundTo: feed }, exactly(text))
  return writers === undefined ? undefined : positionFrom(writers as ReturnType<typeof writersOf>)
}

/** Where everything that is stored begins. */
export const oldestPosition = (heads: readonly StartedLogHead[]): EventPosition =>
  new Map(heads.map(({ writer, start }) => [writer, { next: start, told: 0 }]))

/** Behind everything that is stored. */
export const newestPosition = (heads: readonly StartedLogHead[]): EventPosition =>
  new Map(heads.map(({ writer, size }) => [writer, { next: size, told: 0 }]))

/** Whether retention has removed what comes next (L7). */
export const isTooOld = (position: EventPosition, heads: readonly StartedLogHead[]): boolean =>
  heads.some(({ writer, start }) => (position.get(writer)?.next ?? 0) < start)
