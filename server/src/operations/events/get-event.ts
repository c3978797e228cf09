import { VaultError } from '../../domain/errors.ts'
import { eventsOf, parseEventId, type VaultEvent } from '../../domain/events/event.ts'
import { dayMs } from '../../domain/time/instant.ts'
import { rangesWithin, readRecords } from '../log/read-records.ts'
import type { Caller, Vault } from '../vault/vault.ts'
import { maySee } from './list-events.ts'

/** Nearly every record is stored this soon. Whoever looks further reads the log of two days. */
const latenesses = [120_000, dayMs]

/** E6: the id of a record begins with its time, so few blocks are read. */
export const getEvent = async (vault: Vault, caller: Caller, id: string): Promise<VaultEvent> => {
  const event = await findEvent(vault, caller, id)
  if (event === undefined || !maySee(caller.application, event)) throw new VaultError('notFound')
  const { recordId } = parseEventId(id) ?? {}
  if (recordId !== undefined) caller.act.finds(recordId)
  return event
}

const findEvent = async (vault: Vault, caller: Caller, id: string): Promise<VaultEvent | undefined> => {
  const parsed = parseEventId(id)
  if (parsed === null) return undefined
  const at = Number.parseInt(parsed.recordId.replace('-', '').slice(0, 12), 16)
  const heads = await vault.store.listLogHeads(caller.tenantNumber)
  const ranges = heads.map(({ writer, start, size }) => ({ writer, first: start, end: size }))
  for (const lateMs of latenesses) {
    const reading = { within: { from: at, until: at + 1 }, backwards: false, lateMs }
    const wanted = await rangesWithin(vault, caller, ranges, reading)
    for await (const run of readRecords(vault, caller, wanted, reading))
      for (const { record } of run)
        if (record?.id === parsed.recordId) return eventsOf(record).find(event => event.id === id)
  }
  return undefined
}
