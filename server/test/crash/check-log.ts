import assert from 'node:assert/strict'
import type { Ledger } from './ledger.ts'
import type { Target } from './target.ts'

/** The log goes on where it was read before, without a gap, and has the record of every answered write and reveal (L1, L3). */
export const checkLog = async (target: Target, { receipts, log, sendings }: Ledger): Promise<void> => {
  const url = await target.reach(() => 0)
  const start = log.cursor === undefined ? '' : `?start=${encodeURIComponent(log.cursor)}`
  const reply = await fetch(`${url}/logs/export${start}`, {
    headers: { 'svc-api-key': target.keys.management_api_key },
  })
  const text = await reply.text()
  assert.equal(reply.status, 200, text)
  for (const line of text.split('\n').filter(each => each !== '')) {
    const { id, sequence, next, operation, tokens } = JSON.parse(line)
    if (next !== undefined) log.cursor = next
    if (sequence === undefined) continue
    const [writer = '', number] = sequence.split('.')
    assert.equal(Number(number), log.next.get(writer) ?? 0, `the log has a gap before ${sequence}`)
    log.next.set(writer, Number(number) + 1)
    receipts.delete(id)
    if (operation === 'proxy.sending')
      for (const token of tokens) sendings.set(token.id, (sendings.get(token.id) ?? 0) + 1)
  }
  assert.deepEqual([...receipts], [], 'answers without a record')
}
