import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { TokenBranch } from '../../../src/store/port.ts'
import { signatureOf } from '../../../src/store/rows.ts'
import { bytes, type OpenStore, StoreRig, tokenRow, writeSet } from './rig.ts'

/** Which look-ups signatures save. The token of these tests has the terms a and b. */
export const signatureContract = (open: OpenStore): void => {
  describe('signatures', () => {
    const rig = new StoreRig(open)
    const [a, b, c] = ['a', 'b', 'c'].map(bytes) as [Uint8Array, Uint8Array, Uint8Array]
    const many = [b, ...Array.from({ length: 8 }, (_, at) => bytes(`${at} of many`))]
    const whole = signatureOf([a, b])
    /** A signature as if the token had no b: a query that trusts it misses the token, which shows that nothing is looked up. */
    const denying = signatureOf([a])

    const questions: { name: string; query: TokenBranch; asksSignature: boolean }[] = [
      { name: 'two terms', query: { groups: [[a], [b]] }, asksSignature: true },
      { name: 'a term and one of two', query: { groups: [[a], [c, b]] }, asksSignature: true },
      { name: 'a term and one of many', query: { groups: [[a], many] }, asksSignature: false },
      { name: 'an id and a term', query: { groups: [[b]], ids: ['t'] }, asksSignature: false },
      { name: 'an excluded term', query: { groups: [[a]], without: [c] }, asksSignature: false },
    ]
    for (const { name, query, asksSignature } of questions)
      test(`${name}: a signature that denies a term ${asksSignature ? 'saves' : 'does not save'} its look-up (C24.7, C24.10, C26.4)`, async () => {
        const count = async (signature: number): Promise<number> => {
          const tenant = await rig.newTenant()
          const row = tokenRow(tenant, 't')
          await rig.write(
            writeSet(tenant, {
              guarded: [{ kind: 'insertToken', row }],
              effects: [
                {
                  kind: 'addTerms',
                  of: { tokenId: 't', createdAt: row.createdAt, expiresAt: null, signature },
                  terms: [a, b].map(term => ({ term, tag: null })),
                },
              ],
            }),
          )
          const found = await rig.store.listTokens({ tenant, now: 0, ...query }, { offset: 0, limit: 9 })
          assert.equal(await rig.store.countTokens({ tenant, now: 0, ...query }), found.length)
          return found.length
        }
        assert.equal(await count(whole), 1)
        assert.equal(await count(denying), asksSignature ? 0 : 1)
      })
  })
}
