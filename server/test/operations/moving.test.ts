import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ActKind } from '../../src/domain/acts/act.ts'
import type { JsonObject } from '../../src/domain/json/json.ts'
import { rowForm } from '../../src/domain/moving/row-form.ts'
import { TokenExport } from '../../src/operations/moving/export-tokens.ts'
import { type Reject, TokenImport } from '../../src/operations/moving/import-tokens.ts'
import {
  type ImportState,
  importName,
  loadImport,
  newImport,
} from '../../src/operations/moving/kept-import.ts'
import { OtherFileError, rowBatches } from '../../src/operations/moving/row-batches.ts'
import { ReportChangedError } from '../../src/operations/writing/commit.ts'
import { changesContent } from '../../src/store/write-set.ts'
import { operatorOf } from '../rig/caller-of.ts'
import { onEveryEngine } from '../rig/every-engine.ts'
import { recordsOfTenant } from '../rig/log-records.ts'
import { owner, type TestVault } from '../rig/test-vault.ts'

const importKind: ActKind = { operation: 'import', entityType: 'token' }
const exportKind: ActKind = { operation: 'export', entityType: 'token' }
const anHourMs = 3_600_000

/** An import of a text that the test can end, and begin again. */
class Importing {
  readonly rejects: Reject[] = []
  readonly #vault: TestVault
  readonly #tenantId: string

  constructor(vault: TestVault, tenantId: string) {
    this.#vault = vault
    this.#tenantId = tenantId
  }

  /** `pieces` of the text arrive; then the process dies, unless the text is whole. */
  async run(
    text: string,
    { upTo = Buffer.byteLength(text), name = 'file', isDry = false } = {},
  ): Promise<ImportState> {
    const { vault } = this.#vault.service
    const operator = await operatorOf(vault, this.#tenantId)
    const kept = await loadImport(vault, operator, importName(operator, name))
    const state = kept.state ?? newImport('a form')
    const form = rowForm('ndjson')
    const rejects = {
      put: (more: readonly Reject[], at: number): number => {
        this.rejects.splice(at, this.rejects.length, ...more)
        return this.rejects.length
      },
    }
    const running = new TokenImport(vault, operator, { form, kept, state, rejects, kind: importKind, isDry })
    const pieces = async function* (): AsyncGenerator<Uint8Array> {
      const bytes = Buffer.from(text)
      for (let at = 0; at < upTo; at += 700) yield bytes.subarray(at, Math.min(at + 700, upTo))
      if (upTo < bytes.length) throw new Died()
    }
    try {
      return await running.run(rowBatches(pieces(), form, state), () => undefined)
    } catch (error) {
      if (error instanceof Died) return { ...running.state, isDone: false }
      throw error
    }
  }
}

class Died extends Error {}

const exported = async (vault: TestVault, tenantId: string): Promise<JsonObject[]> => {
  const { vault: own } = vault.service
  const exporting = new TokenExport(own, await operatorOf(own, tenantId), exportKind)
  let text = ''
  for await (const piece of exporting.pieces()) text += piece
  return text
    .split('\n')
    .slice(0, -1)
    .map(line => JSON.parse(line))
}

const linesOf = (rows: readonly unknown[]): string => rows.map(row => `${JSON.stringify(row)}\n`).join('')

/** Rows of every form that a token can have. */
const everyForm: readonly JsonObject[] = [
  { id: 'plain', type: 'token', data: 'a value' },
  { id: 'nested', type: 'token', data: { a: [1, null, { b: 'ü\ud83d\ude00' }], __proto__x: '', '': 0 } },
  { id: 'false', type: 'token', data: false },
  { id: 'masked', type: 'token', data: 'secret', mask: '{{ data | reveal_last: 2 }}' },
  { id: 'tagged', type: 'token', data: 1, metadata: { customer: '8', 'odd key': '' } },
  { id: 'placed', type: 'token', data: 1, containers: ['/a/b/', '/c/'] },
  { id: 'found', type: 'token', data: 'x', search_indexes: ['{{ data }}', '{{ data | upcase }}'] },
  { id: 'same', type: 'token', data: 'y', fingerprint_expression: '{{ data | downcase }}' },
  { id: 'once', type: 'token', data: 'z', deduplicate_token: true },
  { id: 'ends', type: 'token', data: 1, expires_at: '2031-01-02T03:04:05.000+02:00' },
  {
    id: 'card',
    type: 'card',
    data: { number: '4242424242424242', expiration_month: 1, expiration_year: 2031 },
  },
  { id: 'bank', type: 'bank', data: { routing_number: '021000021', account_number: '0012' } },
  { id: 'ssn', type: 'social_security_number', data: '123-45-6789' },
  { id: 'unfound', type: 'social_security_number', data: '123-45-6788', search_indexes: [] },
]

onEveryEngine('moving tokens', vault => {
  describe('an export that is imported', () => {
    test('is the same again, whatever the tokens are (C7, C9, C17)', async () => {
      const first = await vault().tenant({ owner })
      const second = await vault().tenant({ owner })
      const exact = '{"id":"exact","type":"token","data":[12345678901234567890,1e400,"\\ud800"]}\n'
      const making = new Importing(vault(), first.tenantId)
      await making.run(linesOf(everyForm) + exact)
      assert.deepEqual(making.rejects, [])
      for (const [id, patch] of [
        ['card', { mask: null }],
        ['masked', { data: 'changed' }],
      ] as const) {
        assert.equal((await vault().patch(`/tokens/${id}`, first.keys.owner, patch)).status, 200)
      }
      const before = await exported(vault(), first.tenantId)
      assert.equal(before.length, everyForm.length + 1)
      const importing = new Importing(vault(), second.tenantId)
      // As it was written: parsing it would lose the numbers that doubles cannot hold.
      const again = await importing.run(await exportedText(vault(), first.tenantId))
      assert.deepEqual(importing.rejects, [])
      assert.equal(again.imported, before.length)
      assert.equal(await exportedText(vault(), second.tenantId), await exportedText(vault(), first.tenantId))
      const shown = async (key: string, id: string) =>
        (await vault().get(`/tokens/${id}`, key)).body as JsonObject
      for (const { id } of before) {
        const [a, b] = [await shown(first.keys.owner, String(id)), await shown(second.keys.owner, String(id))]
        for (const name of ['data', 'mask', 'metadata', 'containers', 'search_indexes', 'expires_at'])
          assert.deepEqual(b[name], a[name], `${id} ${name}`)
        assert.equal(b.fingerprint_expression, a.fingerprint_expression)
      }
      const found = await vault().post('/tokens/search', second.keys.owner, {
        query: 'data:"X" AND type:token',
      })
      assert.deepEqual(
        (found.body.data as JsonObject[]).map(({ id }) => id),
        ['found'],
      )
    })

    test('stays blind where it was: what a writer could not learn, a move does not tell (C13)', async () => {
      const writer = { permissions: ['token:create', 'token:update'] } as const
      const first = await vault().tenant({ owner, writer })
      const second = await vault().tenant({ owner, writer })
      await new Importing(vault(), first.tenantId).run(
        linesOf([{ id: 'blind', type: 'token', data: 'secret' }]),
      )
      const patch = (key: string, body: JsonObject) => vault().patch('/tokens/blind', key, body)
      assert.equal((await patch(first.keys.writer, { mask: '{{ data }}' })).body.data, undefined)
      await new Importing(vault(), second.tenantId).run(await exportedText(vault(), first.tenantId))
      const { status, body } = await patch(second.keys.writer, { metadata: { a: 'b' } })
      assert.equal(status, 200)
      assert.equal(body.data, undefined)
    })

    test('leaves out what has expired, and a cvc always (C11, C17)', async () => {
      const { tenantId, keys } = await vault().tenant({ owner })
      const soon = new Date(vault().now + 1_000).toISOString()
      const state = await new Importing(vault(), tenantId).run(
        linesOf([
          { id: 'gone', type: 'token', data: 1, expires_at: soon },
          { id: 'with', type: 'card', data: { number: '4242424242424242', cvc: '737' } },
        ]),
      )
      assert.equal(state.imported, 2)
      const cvc = async () => (await vault().get('/tokens/with', keys.owner)).body.data.cvc
      assert.equal(await cvc(), '737')
      vault().now += 2_000
      assert.deepEqual(await exported(vault(), tenantId), [
        { id: 'with', type: 'card', data: { number: '4242424242424242' }, containers: ['/pci/high/'] },
      ])
      vault().now += anHourMs
      assert.equal(await cvc(), undefined, 'its hour is that of a create')
      vault().now -= anHourMs + 2_000
    })
  })

  describe('an import', () => {
    const rows = (count: number, from = 0): JsonObject[] =>
      Array.from({ length: count }, (_, at) => ({ type: 'token', data: `row ${from + at}` }))
    const datas = async (tenantId: string): Promise<unknown[]> =>
      (await exported(vault(), tenantId)).map(({ data }) => data).toSorted()

    test('that dies goes on behind the last row it stored, wherever that was, and rejects each bad row once (L1)', async () => {
      const { tenantId } = await vault().tenant({ owner })
      const all: JsonObject[] = rows(1_700)
      for (const bad of [3, 499, 500, 501, 1_600]) all[bad] = { type: 'token' }
      // Their ids are found out to be wrong only when they are stored.
      const own = { id: '4242{{ "" }}424242424242', type: 'card', data: { number: '4242424242424242' } }
      for (const bad of [10, 700]) all[bad] = own
      const text = linesOf(all)
      const importing = new Importing(vault(), tenantId)
      for (const share of [0.02, 0.3, 0.31, 0.62, 0.9])
        await importing.run(text, { upTo: Math.floor(text.length * share) })
      const { isDone, imported, rejected } = await importing.run(text)
      assert.deepEqual({ isDone, imported, rejected }, { isDone: true, imported: 1_693, rejected: 7 })
      assert.deepEqual(
        importing.rejects.map(({ line }) => line - 1),
        [3, 10, 499, 500, 501, 700, 1_600],
      )
      const expected = all.flatMap(({ data }) => (typeof data === 'string' ? [data] : []))
      assert.deepEqual(await datas(tenantId), expected.toSorted())
      const named = (await recordsOfTenant(vault().service.vault, tenantId))
        .filter(({ operation }) => operation === 'import')
        .flatMap(record => namedIn(record))
        .map(({ id }) => id)
      assert.equal(named.length, 1_693)
      assert.equal(new Set(named).size, 1_693, 'the log names each token once')
    })

    test('that dies between two parts of a batch goes on behind the part (L1)', async () => {
      const { store } = vault()
      const { commit } = store
      const all: JsonObject[] = rows(6)
      // Found out to be wrong when it is stored, so that the batch is stored in parts.
      all[4] = { id: '4242{{ "" }}424242424242', type: 'card', data: { number: '4242424242424242' } }
      let isOver = false
      for (let commits = 0; !isOver; commits++) {
        const { tenantId } = await vault().tenant({ owner })
        const importing = new Importing(vault(), tenantId)
        let left = commits
        store.commit = async set => {
          if (changesContent(set) && left-- === 0) throw new Died()
          return commit(set)
        }
        const { isDone } = await importing.run(linesOf(all))
        isOver = isDone
        store.commit = commit
        const { imported } = await importing.run(linesOf(all))
        assert.equal(imported, 5, `died at commit ${commits}`)
        assert.equal((await exported(vault(), tenantId)).length, 5)
        assert.deepEqual(
          importing.rejects.map(({ line }) => line),
          [5],
        )
      }
    })

    test('that runs twice at once stores each row once, and one of the runs says so (L1)', async () => {
      const { tenantId } = await vault().tenant({ owner })
      const text = linesOf(rows(1_200))
      const outcomes = await Promise.allSettled([
        new Importing(vault(), tenantId).run(text),
        new Importing(vault(), tenantId).run(text),
      ])
      const failed = outcomes.filter(outcome => outcome.status === 'rejected')
      assert.ok(failed.length > 0)
      for (const { reason } of failed) assert.ok(reason instanceof ReportChangedError)
      const { imported } = await new Importing(vault(), tenantId).run(text)
      assert.equal(imported, 1_200)
      assert.equal((await exported(vault(), tenantId)).length, 1_200)
    })

    test('of a file that was changed behind its back is refused, and stores nothing more', async () => {
      const { tenantId } = await vault().tenant({ owner })
      const text = linesOf(rows(1_200))
      const { end } = await new Importing(vault(), tenantId).run(text, { upTo: text.length - 5_000 })
      assert.ok(end > 0)
      for (const other of [text.replace('row 7', 'row 8'), text.slice(0, end - 10)])
        await assert.rejects(new Importing(vault(), tenantId).run(other), OtherFileError)
      const stored = (await exported(vault(), tenantId)).length
      assert.equal(stored % 500, 0)
      await new Importing(vault(), tenantId).run(text)
      assert.equal((await exported(vault(), tenantId)).length, 1_200)
    })

    test('rejects ids that are taken, in the vault or earlier in the file, unless their token is gone (C16, C17)', async () => {
      const { tenantId } = await vault().tenant({ owner })
      const soon = new Date(vault().now + 1_000).toISOString()
      await new Importing(vault(), tenantId).run(
        linesOf([
          { id: 'first', type: 'token', data: 1 },
          { id: 'gone', type: 'token', data: 1, expires_at: soon },
        ]),
      )
      vault().now += 2_000
      const importing = new Importing(vault(), tenantId)
      const { imported } = await importing.run(
        linesOf([
          { id: 'first', type: 'token', data: 2 },
          { id: 'gone', type: 'token', data: 2 },
          { id: 'new', type: 'token', data: 2 },
          { id: 'new', type: 'token', data: 3 },
        ]),
        { name: 'another' },
      )
      vault().now -= 2_000
      assert.equal(imported, 2)
      const reason = 'is taken: a token with this id exists'
      assert.deepEqual(importing.rejects, [
        { line: 1, field: 'id', reason },
        { line: 4, field: 'id', reason },
      ])
    })

    test('takes the token that stands for the same value where deduplication is in force, and says how many (C15)', async () => {
      const { tenantId } = await vault().tenant({ owner }, { deduplicateTokens: true })
      const { imported, deduplicated } = await new Importing(vault(), tenantId).run(
        linesOf([...rows(3), ...rows(3), { id: 'kept', type: 'token', data: 'row 1' }]),
      )
      assert.deepEqual([imported, deduplicated], [7, 4])
      assert.equal((await exported(vault(), tenantId)).length, 3)
    })

    test('that is dry tells what would be rejected and changes nothing', async () => {
      const { tenantId } = await vault().tenant({ owner })
      const importing = new Importing(vault(), tenantId)
      const text = linesOf([...rows(2), { type: 'token' }])
      const { imported, rejected } = await importing.run(text, { isDry: true })
      assert.deepEqual([imported, rejected, importing.rejects.length], [2, 1, 1])
      assert.deepEqual(await exported(vault(), tenantId), [])
      assert.equal((await importing.run(text)).imported, 2, 'and is not remembered')
    })
  })

  test('what an export shows is in the log before it leaves (L1)', async () => {
    const { tenantId } = await vault().tenant({ owner })
    await new Importing(vault(), tenantId).run(
      linesOf(Array.from({ length: 600 }, (_, at) => ({ type: 'token', data: at }))),
    )
    const { vault: own } = vault().service
    const exporting = new TokenExport(own, await operatorOf(own, tenantId), exportKind)
    let shown = 0
    for await (const piece of exporting.pieces()) {
      shown += piece.split('\n').length - 1
      const records = (await recordsOfTenant(vault().service.vault, tenantId)).filter(
        ({ operation }) => operation === 'export',
      )
      const named = records.flatMap(record => namedIn(record))
      assert.equal(named.length, shown)
      assert.ok(
        named.every(({ permission, transform }) => permission === 'token:read' && transform === 'reveal'),
      )
    }
    assert.equal(shown, 600)
  })
})

const namedIn = ({ tokens }: JsonObject): JsonObject[] => (tokens ?? []) as JsonObject[]

const exportedText = async (vault: TestVault, tenantId: string): Promise<string> => {
  const { vault: own } = vault.service
  let text = ''
  for await (const piece of new TokenExport(own, await operatorOf(own, tenantId), exportKind).pieces())
    text += piece
  return text
}
