import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { assertRows, bytes, insertion, matchOf, type OpenStore, StoreRig, tokenRow, writeSet } from './rig.ts'

const createdAt = Date.UTC(2026, 5, 1)
const hour = 3_600_000
const stem = createdAt
  .toString(16)
  .padStart(12, '0')
  .replace(/^(.{8})/, '$1-')

/** An engine may derive from an id where its row is. Whatever else is there, ids name only their own tokens. */
const ids = {
  first: `${stem}-7abc-8000-000000000001`,
  'of the same moment and count': `${stem}-7abc-8000-000000000002`,
  'and another one': `${stem}-7abc-8000-000000000003`,
  'of the next count': `${stem}-7abd-8000-000000000001`,
  'of a caller': 'an id of my own',
  'with a time of its own': 'ffffffff-ffff-7abc-8000-000000000001',
  'like one, in capitals': `${stem}-7abc-8000-000000000001`.toUpperCase(),
  'like one, with other signs': `${stem}-7abç-8000-000000000001`,
  'of another version': `${stem}-4abc-8000-000000000001`,
}

/** A token is found by its id alone, wherever its row is. */
export const idContract = (open: OpenStore): void => {
  describe('ids', () => {
    const rig = new StoreRig(open)
    const term = bytes('term')
    const all = Object.values(ids)
    const sealedFor = (tenant: number, id: string): Uint8Array => bytes(`${id} of ${tenant}`)
    const rowOf = (tenant: number, id: string) =>
      tokenRow(tenant, id, { createdAt, sealed: sealedFor(tenant, id) })
    const insert = (tenant: number, id: string) =>
      rig.store.commit(insertion(tenant, [{ row: rowOf(tenant, id), terms: [term] }]))
    const remove = (tenant: number, id: string) =>
      rig.write(writeSet(tenant, { guarded: [{ kind: 'deleteToken', id, ifVersion: 1 }] }))

    const assertFound = async (tenant: number, present: readonly string[]): Promise<void> => {
      const wanted = all.filter(id => present.includes(id)).map(id => rowOf(tenant, id))
      for (const id of all)
        assertRows(await rig.store.getToken(tenant, id), present.includes(id) ? rowOf(tenant, id) : undefined)
      const inOrder = (rows: readonly { id: string }[]) =>
        rows.toSorted((a, b) => all.indexOf(a.id) - all.indexOf(b.id))
      assertRows(inOrder((await rig.store.getTokens(tenant, all)).rows), wanted)
      const query = { tenant, now: 0, groups: [], ids: all }
      assertRows(inOrder(await rig.store.listTokens(query, { offset: 0, limit: 100 })), wanted)
      assert.equal(await rig.store.countTokens(query), wanted.length)
      const byTerm = { tenant, now: 0, groups: [[term]] }
      assertRows(inOrder(await rig.store.listTokens(byTerm, { offset: 0, limit: 100 })), wanted)
    }

    test('similar ids name separate tokens, in each tenant (C16.1, C16.4)', async () => {
      const [tenant, other] = [await rig.newTenant(), await rig.newTenant()]
      for (const id of all)
        for (const owner of [tenant, other]) assert.deepEqual(await insert(owner, id), { committed: true })
      await assertFound(tenant, all)
      await assertFound(other, all)
      assertRows(
        await rig.store.findOldestMatch(tenant, matchOf(term), 0),
        rowOf(tenant, all.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))[0] ?? ''),
      )
    })

    test('of many reads asked for at once, each gets its own answer (C16.1)', async () => {
      const [tenant, other] = [await rig.newTenant(), await rig.newTenant()]
      for (const id of all.slice(1)) await insert(tenant, id)
      for (const id of all.slice(0, -1)) await insert(other, id)
      const owners = [tenant, other, tenant]
      const asked = Array.from({ length: 40 }, () => all).flatMap(ids =>
        owners.flatMap(owner => ids.map(id => ({ owner, id }))),
      )
      const found = await Promise.all(asked.map(({ owner, id }) => rig.store.getToken(owner, id)))
      assertRows(
        found,
        asked.map(({ owner, id }) =>
          id === (owner === tenant ? all[0] : all.at(-1)) ? undefined : rowOf(owner, id),
        ),
      )
    })

    test('a taken id is refused, and is free again once its token is gone (C16.4, C16.5)', async () => {
      const tenant = await rig.newTenant()
      for (const id of all) await insert(tenant, id)
      for (const id of all)
        assert.deepEqual(await insert(tenant, id), { committed: false, conflict: 'tokenExists' }, id)
      await assertFound(tenant, all)
      for (const id of all) {
        await rig.write(
          writeSet(tenant, {
            effects: [
              {
                kind: 'removeTerms',
                of: { tokenId: id, createdAt, expiresAt: null, signature: 0 },
                terms: [{ term, tag: null }],
              },
            ],
          }),
        )
        await remove(tenant, id)
        await assertFound(
          tenant,
          all.filter(kept => kept !== id),
        )
        assert.deepEqual(await insert(tenant, id), { committed: true }, id)
        await assertFound(tenant, all)
      }
    })

    test('a token whose id carries a time other than its creation is found too (C16.1)', async () => {
      const tenant = await rig.newTenant()
      const row = { ...rowOf(tenant, ids.first), createdAt: createdAt + hour }
      await rig.write(insertion(tenant, [{ row, terms: [term] }]))
      assertRows(await rig.store.getToken(tenant, ids.first), row)
      assertRows(
        await rig.store.listTokens({ tenant, now: 0, groups: [], ids: all }, { offset: 0, limit: 9 }),
        [row],
      )
    })
  })
}
