import { eventsOf, type VaultEvent } from '../../domain/events/event.ts'
import { pace } from '../../domain/pace.ts'
import type { StartedLogHead } from '../../store/port.ts'
import { type LogReader, readRecords } from '../log/read-records.ts'
import type { Vault } from '../vault/vault.ts'
import type { EventPosition, WriterPlace } from './event-position.ts'

/** Events, each with the position right behind it in its writer. */
export type EventRun = {
  readonly events: readonly PlacedEvent[]
  /** Behind everything that was examined. */
  readonly position: EventPosition
  /** Whether there was nothing more. */
  readonly isEnd: boolean
}

export type PlacedEvent = {
  readonly event: VaultEvent
  readonly writer: number
  readonly behind: WriterPlace
}

/**
 * The events that are meant from a position on: at most `size`, and none only if there are no more. Each writer's are in the order of
 * their commits, and none is missed, because the numbers of records have no gaps (L3).
 */
export const readEvents = async (
  vault: Pick<Vault, 'store' | 'acts'>,
  reader: LogReader,
  {
    from,
    heads,
    size,
    isMeant,
  }: {
    readonly from: EventPosition
    readonly heads: readonly StartedLogHead[]
    readonly size: number
    readonly isMeant: (event: VaultEvent) => boolean
  },
): Promise<EventRun> => {
  const position = new Map(from)
  const ranges = heads.map(({ writer, start, size: end }) => ({
    writer,
    first: Math.max(start, from.get(writer)?.next ?? 0),
    end,
  }))
  const events: PlacedEvent[] = []
  let examined = 0
  for await (const run of readRecords(vault, reader, ranges, { within: {}, backwards: false }))
    for (const { writer, next, record } of run) {
      if (events.length > 0 && examined >= pace.eventPageRecords) return { events, position, isEnd: false }
      examined++
      const told = record === undefined ? [] : eventsOf(record)
      const { told: before = 0 } = position.get(writer) ?? {}
      for (const [index, event] of told.entries()) {
        if (index < before || !isMeant(event)) continue
        if (events.length === size) {
          position.set(writer, { next: next - 1, told: index })
          return { events, position, isEnd: false }
        }
        const isLast = index === told.length - 1
        events.push({
          event,
          writer,
          behind: isLast ? { next, told: 0 } : { next: next - 1, told: index + 1 },
        })
      }
      position.set(writer, { next, told: 0 })
    }
  return { events, position, isEnd: true }
}
