import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { checkEvents } from './check-events.ts'
import { checkLog } from './check-log.ts'
import type { Ledger } from './ledger.ts'
import type { Charging, Target } from './target.ts'

/** By then another node has taken over, and what failed at first was told again (E4). */
const toldWithinMs = 30_000

const partnerOf = ({ charging }: Target): Charging['partner'] => {
  assert.ok(charging, 'there is no partner')
  return charging.partner
}

/**
 * Checks the log and the feed, and what the partner knows against both: it got no token without a record from before (U20), and was told
 * of nothing that is not in the feed (E4).
 */
export const checkPartner = async (target: Target, ledger: Ledger): Promise<void> => {
  const partner = partnerOf(target)
  const charges = [...partner.charges.values()]
  const told = [...partner.told.keys()]
  await checkLog(target, ledger)
  await checkEvents(target, ledger)
  assert.deepEqual(partner.complaints, [])
  for (const [token, got] of Map.groupBy(charges, charge => charge.token)) {
    const said = ledger.sendings.get(token) ?? 0
    assert.ok(got.length <= said, `${token} was sent ${got.length} times, and ${said} were recorded`)
    for (const { data } of got) assert.notEqual(typeof data, 'string', `${token} was sent as an expression`)
  }
  for (const id of told)
    assert.ok(ledger.events.toTell.has(id), `the event ${id} was told, and did not happen`)
}

/** Resolves once the partner was told of everything. */
export const untilAllIsTold = async (target: Target, ledger: Ledger): Promise<string> => {
  const partner = partnerOf(target)
  const { toTell } = ledger.events
  const since = performance.now()
  const missing = (): string[] => [...toTell].filter(id => !partner.told.has(id))
  while (missing().length > 0) {
    assert.ok(
      performance.now() - since < toldWithinMs,
      `${missing().length} events were not told: ${missing()}`,
    )
    await sleep(20)
  }
  assert.deepEqual(partner.complaints, [])
  const { charges, told, repeated } = partner
  const recorded = [...ledger.sendings.values()].reduce((sum, count) => sum + count, 0)
  return `${charges.size} charges of ${recorded} recorded arrived; ${told.size} events were told, ${repeated} of them again`
}
