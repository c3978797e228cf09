import assert from 'node:assert/strict'
import { test } from 'node:test'
import { auditTenant } from '../../src/operations/audit-tenant.ts'
import type { Store } from '../../src/store/port.ts'
import { onEveryEngine } from '../rig/every-engine.ts'
import { owner } from '../rig/test-vault.ts'

const reads = ['scanTokens', 'absentTerms', 'getTokens', 'scanTerms', 'scanMatches', 'matchHolder'] as const

onEveryEngine('audit of a tenant', vault => {
  for (const read of reads)
    test(`C24 C26 C27.1 what is written just before or after ${read} is not taken for a difference`, async () => {
      const { keys, tenantId } = await vault().tenant({ owner }, { deduplicateTokens: true })
      const whole = vault().service.vault
      const tenantNumber = await vault().tenantNumber(tenantId)
      const tenant = { tenantNumber, keys: await whole.tenantKeys.of(tenantNumber, tenantId) }
      const create = (id: string) =>
        vault().create(keys.owner, { id, type: 'token', data: `data of ${id}`, containers: ['/a/b/'] })
      for (const id of ['moved', 'deleted', 'renewed']) await create(id)

      let round = 0
      const write = async (): Promise<void> => {
        round++
        const containers = [round % 2 === 0 ? '/a/b/' : '/a/']
        await vault().patch('/tokens/moved', keys.owner, { data: `round ${round}`, containers })
        await vault().delete('/tokens/deleted', keys.owner)
        await vault().delete('/tokens/renewed', keys.owner)
        vault().now++
        await create('renewed')
        await create(`new-${round}`)
      }
      /** The store, with somebody who writes around each of these reads. */
      const busy: Store = {
        ...whole.store,
        [read]: async (...args: never[]) => {
          await write()
          const found = await (whole.store[read] as (...args: never[]) => Promise<unknown>)(...args)
          if (round < 20) await write()
          return found
        },
      }
      const { wasWritten, ...found } = await auditTenant({ ...whole, store: busy }, tenant)
      const nothing = { unreadable: [], missing: [], extra: [], matches: [], counters: [] }
      assert.deepEqual(found, nothing)
      assert.equal(wasWritten, round > 0)
      const isWritten = read !== 'matchHolder' && read !== 'getTokens'
      if (isWritten) assert.ok(round > 0)
      assert.deepEqual(await auditTenant(whole, tenant), { ...nothing, wasWritten: false })
    })
})
