import assert from 'node:assert/strict'
import { appearance, granted, type TestReply } from './answers.ts'
import { ownerAndManager } from './applications.ts'
import { sqlite } from './engines.ts'
import { owner, TestVault } from './test-vault.ts'

const masked = {
  rules: [{ priority: 1, container: '/', transform: 'mask', permissions: ['token:read'] }],
} as const

const card = { type: 'card', data: { number: '4242424242424242', expiration_month: 12, cvc: '123' } }
const once = { 'svc-idempotency-key': 'once' }
const proxy = {
  name: 'Payments',
  destination_url: 'https://api.example.com/v1',
  configuration: { key: 'Zürich ÿ' },
}
const webhook = { name: 'Ledger', url: 'https://hooks.example.com/', events: ['token.*'] }
const unique = { type: 'token', data: 'the only one', deduplicate_token: true }

/** Requests whose answers show whether two vaults are the same. None of them changes the answer to another. */
type Question = (vault: TestVault) => Promise<TestReply>

/** An embedded vault with rows in every table, and questions about all of them. */
export type LivedInVault = {
  readonly vault: TestVault
  readonly keys: { readonly owner: string; readonly masked: string; readonly manager: string }
  readonly ids: { readonly card: string; readonly brief: string; readonly found: string }
  readonly answers: () => Promise<Record<string, unknown>>
}

export const livedInVault = async (): Promise<LivedInVault> => {
  const vault = await TestVault.start({ engine: sqlite })
  const { keys } = await vault.tenant({ ...ownerAndManager, masked })
  const other = await vault.tenant({ owner })
  const dead = await vault.tenant(ownerAndManager)
  const kept = await vault.send('POST', '/tokens', { key: keys.owner, body: card, headers: once })
  const found = await vault.create(keys.owner, {
    type: 'token',
    data: 'Müller ÿ\u{10ffff}',
    metadata: { Branch: 'Zürich' },
    search_indexes: ['{{ data }}'],
    containers: ['/a/b/', '/c/'],
  })
  const brief = await vault.create(keys.owner, { type: 'token', data: 'brief', expires_at: '2026-03-02' })
  for (const id of ['zz-1', 'ZZ-2', 'éé-3', '\u{10ffff}-4', '\uffee-5'])
    await vault.create(keys.owner, { id, type: 'token', data: { id } })
  granted(await vault.patch(`/tokens/${brief.id}`, keys.owner, { metadata: { patched: 'yes' } }))
  await vault.create(keys.owner, unique)
  await vault.create(other.keys.owner, card)
  await vault.create(dead.keys.owner, card)
  granted(await vault.post('/proxies', keys.manager, proxy))
  granted(await vault.post('/webhooks', keys.manager, webhook))
  await vault.service.jobTimer.runAll()
  assert.equal((await vault.delete('/tenants/self', dead.keys.manager)).status, 204)

  const first = await vault.get('/v2/tokens?size=2', keys.owner)
  const questions: Record<string, Question> = {
    'a card, revealed with its cvc': v => v.get(`/tokens/${kept.body.id}`, keys.owner),
    'a card, masked': v => v.get(`/tokens/${kept.body.id}`, keys.masked),
    'a list with its counts': v => v.get('/tokens?size=100', keys.owner),
    'a list by metadata': v => v.get('/tokens?metadata.Branch=zürich', keys.owner),
    'a list by container': v => v.get('/tokens?container=/a/', keys.owner),
    'a cursor that was given out before': v =>
      v.get(`/v2/tokens?size=100&start=${first.body.pagination.next}`, keys.owner),
    'a search': v =>
      v.post('/tokens/search', keys.owner, { query: 'data:"müller ÿ\u{10ffff}" AND container:"/a/*"' }),
    'a deduplicated create': v => v.post('/tokens', keys.owner, unique),
    'a replay': v => v.send('POST', '/tokens', { key: keys.owner, body: {}, headers: once }),
    'the usage report': v => v.get('/tenants/self/reports/usage', keys.manager),
    'the index report': v => v.get('/tenants/self/reports/indexes', keys.manager),
    'the tenant': v => v.get('/tenants/self', keys.manager),
    'the applications': v => v.get('/applications', keys.manager),
    'the proxies': v => v.get('/proxies', keys.manager),
    'the webhooks': v => v.get('/webhooks', keys.manager),
    'another tenant': v => v.get('/tokens', other.keys.owner),
    'a key of a deleted tenant': v => v.get('/tenants/self', dead.keys.manager),
  }
  return {
    vault,
    keys,
    ids: { card: kept.body.id, brief: brief.id, found: found.id },
    answers: async () => {
      const told: Record<string, unknown> = {}
      for (const [name, ask] of Object.entries(questions)) told[name] = appearance(await ask(vault))
      return told
    },
  }
}
