import assert from 'node:assert/strict'
import type { SQLInputValue } from 'node:sqlite'
import { after, afterEach, before, beforeEach, describe, test } from 'node:test'
import { newUuid } from '../../src/crypto/uuid.ts'
import type { TestReply } from '../rig/answers.ts'
import { anyEngine, type StoredRow } from '../rig/engines.ts'
import { isRefusedByType } from '../rig/tamper.ts'
import { devApplications, owner, type TestApplication, TestVault } from '../rig/test-vault.ts'
import { assertAbsent } from '../rig/traces.ts'

const number = '4242424242424242'
const hour = 3_600_000

const flipped = (bytes: Uint8Array, bit: number): Uint8Array => {
  const changed = Uint8Array.from(bytes)
  changed[bit >>> 3] = (changed[bit >>> 3] ?? 0) ^ (1 << (bit & 7))
  return changed
}

// Seals are checked above storage, so one engine is enough; the long run has all of them.
for (const engine of anyEngine) {
  /** A vault with two tenants, and direct access to its storage. */
  class Scene {
    vault!: TestVault
    readonly keys = { general: '', private: '', otherGeneral: '', otherPrivate: '' }
    tenantId = ''
    otherTenantId = ''

    async start(): Promise<void> {
      this.vault = await TestVault.start({ engine })
      const own = await this.vault.tenant(devApplications)
      const other = await this.vault.tenant(devApplications)
      this.tenantId = own.tenantId
      this.otherTenantId = other.tenantId
      Object.assign(this.keys, own.keys, {
        otherGeneral: other.keys.general,
        otherPrivate: other.keys.private,
      })
    }

    reach(sql: string, ...values: SQLInputValue[]): Promise<StoredRow[]> {
      return engine.reach(this.vault.folder.path, sql, ...values)
    }

    /** The tenant's number inside storage. */
    async numberOf(tenantId: string): Promise<number> {
      const [row] = await this.reach('SELECT tenant FROM tenants WHERE tenant_id = ?', tenantId)
      return Number(row?.tenant)
    }

    async create(body: object, key = this.keys.general): Promise<string> {
      const made = await this.vault.post('/tokens', key, body)
      assert.equal(made.status, 201, made.text)
      return made.body.id
    }

    read(id: string, key = this.keys.private): Promise<TestReply> {
      return this.vault.get(`/tokens/${encodeURIComponent(id)}`, key)
    }

    /** Whatever happened to one row, everything else goes on. */
    async assertAllElseWell(): Promise<void> {
      const id = await this.create({ type: 'card', data: { number, cvc: '987' } })
      assert.equal((await this.read(id)).body.data.cvc, '987')
      assert.equal((await this.vault.get('/tokens', this.keys.otherPrivate)).status, 200)
      assert.equal((await this.vault.send('GET', '/ready')).status, 200)
    }
  }

  describe(`a token's row that was changed in storage (${engine.name})`, () => {
    const scene = new Scene()
    before(() => scene.start())
    after(() => scene.vault.stop())

    type Change = (id: string, bystander: string) => Promise<unknown>
    const reach = scene.reach.bind(scene)
    const set =
      (column: string, value: SQLInputValue): Change =>
      id =>
        reach(`UPDATE tokens SET ${column} = ? WHERE token_id = ?`, value, id)
    const sealedOf = async (id: string): Promise<Uint8Array> =>
      (await reach('SELECT sealed FROM tokens WHERE token_id = ?', id))[0]?.sealed as Uint8Array
    const reseal =
      (change: (sealed: Uint8Array, other: Uint8Array) => SQLInputValue): Change =>
      async (id, bystander) =>
        set('sealed', change(await sealedOf(id), await sealedOf(bystander)))(id, bystander)
    const codeOf = async (id: string) =>
      (await reach(engine.transientBytes.read, id))[0] as { place: SQLInputValue; bytes: Uint8Array }
    const replaceCode = async (id: string, bytes: SQLInputValue) =>
      reach(engine.transientBytes.write, bytes, (await codeOf(id)).place)

    const changes: Record<string, Change> = {
      'another format': reseal(sealed => flipped(sealed, 0)),
      'another key version': reseal(sealed => flipped(sealed, 4 * 8)),
      'a bit of the nonce flipped': reseal(sealed => flipped(sealed, 9 * 8)),
      'a bit of the text flipped': reseal(sealed => flipped(sealed, 20 * 8)),
      'a bit of the tag flipped': reseal(sealed => flipped(sealed, sealed.length * 8 - 1)),
      'its sealed part cut short': reseal(sealed => sealed.subarray(0, -1)),
      'only half of its sealed part': reseal(sealed => sealed.subarray(0, sealed.length / 2)),
      'no sealed part': reseal(() => new Uint8Array(0)),
      'text as its sealed part': reseal(() => 'text'),
      'a number as its sealed part': reseal(() => 5),
      'the sealed part of another token': reseal((_own, other) => other),
      'another type': set('type', 'token'),
      'a type that does not exist': set('type', 'nonsense'),
      'bytes as its type': set('type', new Uint8Array([1, 2, 3])),
      'another version': set('version', 2),
      'a word as its version': set('version', 'one'),
      'an earlier time of creation': set('created_at', 1),
      'a time of creation beyond safe integers': set('created_at', 9_223_372_036_854_775_807n),
      'a fractional time of creation': set('created_at', 1.5),
      'a word as its time of creation': set('created_at', 'today'),
      'another maker': set('created_by', crypto.randomUUID()),
      'bytes as its maker': set('created_by', new Uint8Array([1])),
      'a time of change that it never had': set('modified_at', Date.parse('2026-03-01T12:00:00Z')),
      'a word as its time of change': set('modified_at', 'never'),
      'a modifier that it never had': set('modified_by', crypto.randomUUID()),
      'an expiry that it never had': set('expires_at', Date.parse('2030-01-01T00:00:00Z')),
      'a word as its expiry': set('expires_at', 'never'),
      'an expiry beyond safe integers': set('expires_at', 9_223_372_036_854_775_807n),
      'a bit of its card code flipped': async id =>
        replaceCode(id, flipped((await codeOf(id)).bytes, 20 * 8)),
      'its card code cut short': async id => replaceCode(id, (await codeOf(id)).bytes.subarray(0, 10)),
      'text as its card code': id => replaceCode(id, 'text'),
      'the card code of another token': async (id, bystander) =>
        replaceCode(id, (await codeOf(bystander)).bytes),
      ...(engine.name === 'sqlite' && {
        'the slot of the card code of another token': async (id: string, bystander: string) =>
          reach('UPDATE transients SET slot = ? WHERE token_id = ?', (await codeOf(bystander)).place, id),
        'no slot for its card code': async (id: string) =>
          reach('DELETE FROM slots WHERE slot = ?', (await codeOf(id)).place),
      }),
      'a later deadline for its card code': id =>
        reach('UPDATE transients SET expires_at = expires_at + 1 WHERE token_id = ?', id),
      'its card code under another name': id =>
        reach("UPDATE transients SET field = 'number' WHERE token_id = ?", id),
    }

    for (const [name, change] of Object.entries(changes))
      for (const isChosen of [false, true])
        test(`a token with ${isChosen ? 'a chosen id' : 'an id of the vault'} and ${name} answers 500 and is logged (C2.17, C2.5, C2.8)`, async t => {
          const { vault, keys } = scene
          const card = (cvc: string, id?: string) => ({
            type: 'card',
            data: { number, cvc },
            metadata: { note: 'in the clear nowhere' },
            ...(id !== undefined && { id }),
          })
          const id = await scene.create(card('1357', isChosen ? crypto.randomUUID() : undefined))
          const bystander = await scene.create(card('2468'))
          try {
            await change(id, bystander)
          } catch (error) {
            if (isRefusedByType(error)) return t.skip('the engine does not take such a value')
            throw error
          }
          vault.log.length = 0

          const path = `/tokens/${id}`
          const replies = [
            await vault.get(path, keys.private),
            await vault.get(`/tokens?id=${id}`, keys.private),
            await vault.get(`/tokens?id=${id}&id=${bystander}&size=2`, keys.private),
            await vault.patch(path, keys.general, { metadata: { note: 'changed' } }),
            await vault.patch(path, keys.general, {}),
            await vault.delete(path, keys.private),
          ]
          for (const reply of replies) {
            assert.equal(reply.status, 500, reply.text)
            assert.deepEqual(reply.body, {
              type: 'about:blank',
              title: 'Internal Server Error',
              status: 500,
              code: 'internal',
              detail: 'The vault failed; look up the trace id in its log.',
              trace_id: reply.headers.get('svc-trace-id'),
            })
          }
          const errors = vault.log.filter(line => line.includes('"error"'))
          assert.equal(errors.length, replies.length)
          const named = isChosen ? '(an id that is not ours)' : id
          for (const line of errors) {
            assert.equal(JSON.parse(line).row, `token ${named} of tenant ${scene.tenantId}`)
            assert.equal(JSON.parse(line).error, 'TamperedError')
          }
          const places = { log: vault.log.join('\n'), answers: replies.map(({ text }) => text).join('\n') }
          assertAbsent(places, [number, '"1357"', '"2468"', 'in the clear', ...(isChosen ? [id] : [])])

          assert.equal((await scene.read(bystander)).body.data.cvc, '2468')
          await reach('DELETE FROM transients WHERE token_id = ?', id)
          await reach('DELETE FROM tokens WHERE token_id = ?', id)
          await scene.assertAllElseWell()
        })

    test('an expiry that was moved or removed is detected (SECURITY.md)', async () => {
      for (const sql of ['expires_at + 1', 'expires_at - 1', 'NULL', '1']) {
        const id = await scene.create({ type: 'token', data: 'x', expires_at: '2030-01-01' })
        await reach(`UPDATE tokens SET expires_at = ${sql} WHERE token_id = ?`, id)
        assert.equal((await scene.read(id)).status, 500, sql)
        await reach('DELETE FROM tokens WHERE token_id = ?', id)
      }
    })

    test('two tokens whose sealed parts were exchanged are both refused (SECURITY.md)', async () => {
      const [one, other] = [
        await scene.create({ type: 'token', data: 'first' }),
        await scene.create({ type: 'token', data: 'second' }),
      ]
      const [a, b] = [await sealedOf(one), await sealedOf(other)]
      await set('sealed', b)(one, other)
      await set('sealed', a)(other, one)
      for (const id of [one, other]) assert.equal((await scene.read(id)).status, 500)
      await set('sealed', a)(one, other)
      await set('sealed', b)(other, one)
      assert.deepEqual(
        [(await scene.read(one)).body.data, (await scene.read(other)).body.data],
        ['first', 'second'],
      )
    })

    test('a row that was moved to another id or another tenant opens in neither place (§1.3, C31.9)', async () => {
      const id = await scene.create({ type: 'token', data: 'kept here' })
      const moved = crypto.randomUUID()
      await reach('UPDATE tokens SET token_id = ? WHERE token_id = ?', moved, id)
      assert.equal((await scene.read(id)).status, 404)
      assert.equal((await scene.read(moved)).status, 500)

      const other = await scene.numberOf(scene.otherTenantId)
      await reach('UPDATE tokens SET token_id = ?, tenant = ? WHERE token_id = ?', id, other, moved)
      scene.vault.log.length = 0
      const stolen = await scene.read(id, scene.keys.otherPrivate)
      assert.equal(stolen.status, 500)
      assertAbsent({ answer: stolen.text, log: scene.vault.log.join('\n') }, ['kept here'])
      assert.ok(scene.vault.log.join('\n').includes(`token ${id} of tenant ${scene.otherTenantId}`))
      assert.equal((await scene.read(id)).status, 404)
      await reach('DELETE FROM tokens WHERE token_id = ?', id)
    })

    test('a card code whose deadlines were moved does not come back after its hour (C11.1)', async () => {
      const id = await scene.create({ type: 'card', data: { number, cvc: '1357' } })
      await reach('UPDATE transients SET expires_at = expires_at + ? WHERE token_id = ?', 100 * hour, id)
      await reach(
        'UPDATE tokens SET transient_until = transient_until + ? WHERE token_id = ?',
        100 * hour,
        id,
      )
      scene.vault.now += hour
      const reply = await scene.read(id)
      assert.equal(reply.status, 500)
      assertAbsent({ answer: reply.text }, ['"1357"', number])
      await reach('DELETE FROM transients WHERE token_id = ?', id)
      await reach('DELETE FROM tokens WHERE token_id = ?', id)
    })
  })

  describe(`an index that was changed in storage (${engine.name})`, () => {
    const scene = new Scene()
    before(() => scene.start())
    after(() => scene.vault.stop())
    const termsOf = (id: string) => scene.reach('SELECT * FROM terms WHERE token_id = ?', id)

    test('it only proposes candidates: a token that it names wrongly is not listed (C24.6)', async () => {
      const { keys, vault } = scene
      const body = (color: string) => ({ type: 'token', data: color, metadata: { color } })
      const [red, blue] = [await scene.create(body('red')), await scene.create(body('blue'))]
      const own = new Set(
        (await termsOf(blue)).map(({ term }) => Buffer.from(term as Uint8Array).toString('hex')),
      )
      for (const { term, tenant, created_at } of await termsOf(red))
        if (!own.has(Buffer.from(term as Uint8Array).toString('hex')))
          await scene.reach(
            'INSERT INTO terms (tenant, term, created_at, token_id, signature) VALUES (?,?,?,?,0)',
            tenant as number,
            term as Uint8Array,
            created_at as number,
            blue,
          )
      const listed = await vault.get('/tokens?metadata.color=red', keys.private)
      assert.deepEqual(
        listed.body.data.map((token: { id: string }) => token.id),
        [red],
      )
    })

    test('it only proposes candidates: a search finds nothing where the caller may not search (C26.1, C28.9)', async () => {
      const { vault } = scene
      const searcher: TestApplication = {
        rules: [
          { priority: 1, container: '/a/', transform: 'reveal', permissions: ['token:search'] },
          { priority: 2, container: '/', transform: 'reveal', permissions: ['token:read'] },
        ],
      }
      const { keys } = await vault.tenant({ owner, searcher })
      const make = (container: string) =>
        scene.create(
          { type: 'token', data: container, containers: [container], metadata: { color: 'red' } },
          keys.owner,
        )
      const [here, elsewhere] = [await make('/a/'), await make('/b/')]
      await scene.reach('DELETE FROM terms WHERE token_id = ?', elsewhere)
      await scene.reach(
        `INSERT INTO terms (tenant, term, created_at, token_id, expires_at, tag, signature)
         SELECT tenant, term, created_at, ?, expires_at, tag, signature FROM terms WHERE token_id = ?`,
        elsewhere,
        here,
      )
      const found = await vault.post('/tokens/search', keys.searcher, { query: 'metadata.color:red' })
      assert.deepEqual(
        found.body.data.map((token: { id: string }) => token.id),
        [here],
      )
    })

    test('a match that points to a token with another value is ignored (C15.3)', async () => {
      const { keys, vault } = scene
      const body = (data: string) => ({ type: 'token', data, deduplicate_token: true })
      const [one, other] = [await scene.create(body('one')), await scene.create(body('other'))]
      await scene.reach('DELETE FROM tokens WHERE token_id = ?', one)
      await scene.reach(
        `UPDATE terms SET token_id = ? WHERE token_id = ? AND NOT EXISTS (SELECT 1 FROM terms taken
           WHERE taken.tenant = terms.tenant AND taken.term = terms.term
             AND taken.created_at = terms.created_at AND taken.token_id = ?)`,
        other,
        one,
        other,
      )
      await scene.reach('UPDATE matches SET token_id = ? WHERE token_id = ?', other, one)
      const made = await vault.post('/tokens', keys.general, body('one'))
      assert.equal(made.status, 201)
      assert.deepEqual(made.body._extras, { deduplicated: false })
      assert.notEqual(made.body.id, other)
    })

    const value = 'a value that several tokens share'
    const lookAlikes: [name: string, body: object, change?: (id: string) => Promise<unknown>][] = [
      ['in another container', { containers: ['/elsewhere/'] }],
      ['in one of two containers', { containers: ['/second/'] }],
      [
        'with another fingerprint expression',
        { fingerprint_expression: "{{ data | stringify | append: '' }}" },
      ],
      [
        'whose mask was set blindly',
        {},
        id => scene.vault.patch(`/tokens/${id}`, scene.keys.general, { mask: '{{ data | last4 }}' }),
      ],
      ['that has expired', { expires_at: '2026-03-01T13:00:00Z' }],
    ]
    for (const [name, fields, change] of lookAlikes)
      test(`a match that points to a token of the same value ${name} is ignored (C15.3)`, async () => {
        const { keys, vault } = scene
        vault.now = Date.parse('2026-03-01T12:00:00Z')
        const containers = ['/first/', '/second/']
        const body = { type: 'token', data: value, containers, deduplicate_token: true }
        const one = await scene.create(body)
        const other = await scene.create({ ...body, ...fields, deduplicate_token: false })
        await change?.(other)
        const [one1, other1] = [await scene.read(one), await scene.read(other)]
        assert.equal(other1.body.fingerprint, one1.body.fingerprint)
        const [entry] = (await termsOf(one)).filter(({ tag }) => tag !== null)
        const { term, tag } = entry as { term: Uint8Array; tag: Uint8Array }
        for (const table of ['tokens', 'terms'])
          await scene.reach(`DELETE FROM ${table} WHERE token_id = ?`, one)
        await scene.reach(
          'UPDATE terms SET tag = ?, expires_at = NULL WHERE token_id = ? AND term = ?',
          tag,
          other,
          term,
        )
        await scene.reach('UPDATE matches SET token_id = ? WHERE token_id = ?', other, one)
        vault.now += hour
        const made = await vault.post('/tokens', keys.general, body)
        assert.deepEqual([made.status, made.body._extras], [201, { deduplicated: false }])
        for (const id of [other, made.body.id]) await vault.delete(`/tokens/${id}`, keys.private)
      })

    test('an expired token that does not open keeps nobody from its value (C15.3, C17.4)', async () => {
      const { keys, vault } = scene
      const body = { type: 'token', data: 'a value of an expired token', deduplicate_token: true }
      const one = await scene.create({ ...body, expires_at: new Date(vault.now + hour).toISOString() })
      await scene.reach('UPDATE tokens SET sealed = ? WHERE token_id = ?', new Uint8Array(1), one)
      vault.now += hour
      const made = await vault.post('/tokens', keys.general, body)
      assert.deepEqual([made.status, made.body._extras], [201, { deduplicated: false }])
      await vault.delete(`/tokens/${made.body.id}`, keys.private)
    })

    test('an expired token does not come back through its index entries (C17.4)', async () => {
      const { keys, vault } = scene
      const expires = new Date(vault.now + hour).toISOString()
      const id = await scene.create({
        type: 'bank',
        data: { routing_number: '021000021', account_number: '1' },
        expires_at: expires,
      })
      assert.equal((await vault.get('/tokens?type=bank', keys.private)).body.data.length, 1)
      await scene.reach('UPDATE terms SET expires_at = NULL WHERE token_id = ?', id)
      vault.now += hour
      assert.deepEqual((await vault.get('/tokens?type=bank', keys.private)).body.data, [])
    })
  })

  describe(`a grant whose row was changed in storage (${engine.name})`, () => {
    let scene: Scene
    beforeEach(async () => {
      scene = new Scene()
      await scene.start()
    })
    afterEach(() => scene.vault.stop())

    const keyOf = { tenants: 'tenant', applications: 'application_id', api_keys: 'key_id' } as const
    type Change = (row: StoredRow, rows: StoredRow[]) => SQLInputValue

    /** Changes one column in all rows of the table, so that every key of the scene meets a changed row. */
    const everyRow = async (table: keyof typeof keyOf, column: string, change: Change): Promise<void> => {
      const rows = await scene.reach(`SELECT * FROM ${table} ORDER BY 1, 2`)
      const key = keyOf[table]
      const put = (row: StoredRow, value: SQLInputValue) =>
        scene.reach(`UPDATE ${table} SET ${column} = ? WHERE ${key} = ?`, value, row[key] as string)
      // Unique values are first moved out of the way, so that they can be exchanged.
      if (column !== key) for (const [i, row] of rows.entries()) await put(row, `away ${i}`)
      for (const row of rows) await put(row, change(row, rows))
    }
    const flipSealed = (bit: number) => (row: StoredRow) => flipped(row.sealed as Uint8Array, bit)
    const ofNext = (column: string) => (row: StoredRow, rows: StoredRow[]) =>
      rows[(rows.indexOf(row) + 1) % rows.length]?.[column] as SQLInputValue

    const changes: Record<string, { kind: string; change: () => Promise<unknown> }> = {
      'an API key with a bit flipped': {
        kind: 'api-key',
        change: () => everyRow('api_keys', 'sealed', flipSealed(200)),
      },
      'an API key cut short': {
        kind: 'api-key',
        change: () => everyRow('api_keys', 'sealed', row => (row.sealed as Uint8Array).subarray(0, 20)),
      },
      'an API key replaced by text': {
        kind: 'api-key',
        change: () => everyRow('api_keys', 'sealed', () => 'let me in'),
      },
      'an API key with the sealed part of another key': {
        kind: 'api-key',
        change: () => everyRow('api_keys', 'sealed', ofNext('sealed')),
      },
      'API keys whose hashes were exchanged': {
        kind: 'api-key',
        change: () => everyRow('api_keys', 'hash', ofNext('hash')),
      },
      'an API key under another id': {
        kind: 'api-key',
        change: () => everyRow('api_keys', 'key_id', newUuid),
      },
      'an application with a bit flipped': {
        kind: 'application',
        change: () => everyRow('applications', 'sealed', flipSealed(300)),
      },
      'an application with the rights of another one': {
        kind: 'application',
        change: () => everyRow('applications', 'sealed', ofNext('sealed')),
      },
      'a tenant with a bit flipped': {
        kind: 'tenant',
        change: () => everyRow('tenants', 'sealed', flipSealed(300)),
      },
      'a tenant with the settings of another one': {
        kind: 'tenant',
        change: () => everyRow('tenants', 'sealed', ofNext('sealed')),
      },
      'tenants whose ids were exchanged': {
        kind: 'api-key',
        change: () => everyRow('tenants', 'tenant_id', ofNext('tenant_id')),
      },
    }

    for (const [name, { kind, change }] of Object.entries(changes))
      test(`${name}: access is refused with 401, and the log names the row (C2.11, C28.1, C30.2)`, async () => {
        const { vault, keys } = scene
        const id = await scene.create({ type: 'token', data: 'guarded value' })
        await change()
        await vault.restart()
        vault.log.length = 0
        for (const key of Object.values(keys)) {
          const reply = await vault.get(`/tokens/${id}`, key)
          assert.equal(reply.status, 401, reply.text)
          assert.equal(reply.headers.get('www-authenticate'), 'ApiKey header="SVC-API-KEY"')
          assert.equal(reply.body.detail, 'Send a valid API key in the header SVC-API-KEY.')
          assertAbsent({ answer: reply.text }, ['guarded value', key])
        }
        const errors = vault.log.map(line => JSON.parse(line)).filter(({ level }) => level === 'error')
        assert.equal(errors.length, Object.keys(keys).length)
        for (const error of errors) assert.match(error.row, new RegExp(`^${kind} [0-9a-f-]{36}$`))
        assertAbsent({ log: vault.log.join('\n') }, ['guarded value', ...Object.values(keys)])
        assert.equal((await vault.send('GET', '/ready')).status, 200)
      })

    test('a key cannot be redirected to another application or tenant (C28.1, C30.2, §1.3)', async () => {
      const { vault, keys } = scene
      const id = await scene.create({ type: 'token', data: 'guarded value' })
      const [own, other] = [await scene.numberOf(scene.tenantId), await scene.numberOf(scene.otherTenantId)]
      await everyRow('api_keys', 'application_id', ofNext('application_id'))
      await scene.reach('UPDATE api_keys SET tenant = ? WHERE tenant = ?', own, other)
      await vault.restart()
      for (const key of Object.values(keys)) assert.equal((await vault.get(`/tokens/${id}`, key)).status, 401)
    })

    test('a tenant whose wrapped keys were changed is unavailable, and the others are not (C2.23, §1.3)', async () => {
      const { vault, keys } = scene
      const id = await scene.create({ type: 'token', data: 'guarded value' })
      const elsewhere = await scene.create({ type: 'token', data: 'elsewhere' }, keys.otherGeneral)
      const own = await scene.numberOf(scene.tenantId)
      for (const { place, bytes } of await scene.reach(engine.keyBytes.read, own))
        await scene.reach(engine.keyBytes.write, flipped(bytes as Uint8Array, 200), place as SQLInputValue)
      await vault.restart()
      vault.log.length = 0
      const reply = await vault.get(`/tokens/${id}`, keys.private)
      assert.equal(reply.status, 503)
      assertAbsent({ answer: reply.text, log: vault.log.join('\n') }, ['guarded value'])
      assert.equal((await scene.read(elsewhere, keys.otherPrivate)).body.data, 'elsewhere')
    })
  })

  describe(`what is kept for a tenant besides its tokens (${engine.name})`, () => {
    const scene = new Scene()
    before(() => scene.start())
    after(() => scene.vault.stop())

    for (const [table, named, method, path] of [
      ['results', 'kept answer', 'POST', '/tokens'],
      ['reports', 'report on indexes', 'GET', '/tenants/self/reports/indexes'],
    ] as const)
      test(`a ${named} that was changed is not shown, and the log names it (C2.17)`, async () => {
        const { vault } = scene
        const { keys, tenantId } = await vault.tenant({
          POST: devApplications.general,
          GET: { type: 'management', permissions: ['report:read'] },
        })
        const ask = (): Promise<TestReply> =>
          vault.send(method, path, {
            key: keys[method],
            ...(method === 'POST' && { body: { type: 'token', data: 'x' } }),
            headers: { 'svc-idempotency-key': 'once' },
          })
        assert.ok((await ask()).status < 300)
        await vault.service.jobTimer.runAll()
        const own = await scene.numberOf(tenantId)
        const [row] = await scene.reach(`SELECT sealed FROM ${table} WHERE tenant = ?`, own)
        const changed = flipped(row?.sealed as Uint8Array, 20 * 8)
        await scene.reach(`UPDATE ${table} SET sealed = ? WHERE tenant = ?`, changed, own)
        vault.log.length = 0
        assert.equal((await ask()).status, 500)
        const [failed] = vault.log.map(line => JSON.parse(line)).filter(({ level }) => level === 'error')
        assert.deepEqual([failed?.error, failed?.row], ['TamperedError', `${named} of tenant ${tenantId}`])
      })
  })

  describe(`sweeping storage that was changed (${engine.name})`, () => {
    let scene: Scene
    beforeEach(async () => {
      scene = new Scene()
      await scene.start()
    })
    afterEach(() => scene.vault.stop())
    const stored = async (id: string) =>
      (await scene.reach('SELECT 1 FROM tokens WHERE token_id = ?', id)).length === 1

    test('a token whose expiry was moved into the past is not purged, but logged (C17.6)', async () => {
      const { vault } = scene
      const id = await scene.create({ type: 'token', data: 'kept' })
      await scene.reach('UPDATE tokens SET expires_at = 1 WHERE token_id = ?', id)
      vault.log.length = 0
      await vault.service.jobTimer.runAll()
      assert.ok(await stored(id))
      assert.ok(vault.log.join('\n').includes(`token ${id} of tenant ${scene.tenantId}`))
      await scene.reach('UPDATE tokens SET expires_at = NULL WHERE token_id = ?', id)
      assert.equal((await scene.read(id)).body.data, 'kept')
    })

    const obstacles: Record<string, () => Promise<unknown>> = {
      'rows that do not open': async () =>
        scene.reach(
          'UPDATE tokens SET expires_at = 1 WHERE tenant = ?',
          await scene.numberOf(scene.tenantId),
        ),
      'rows of a tenant that does not exist': async () =>
        scene.reach(
          'UPDATE tokens SET expires_at = 1, tenant = 999 WHERE tenant = ?',
          await scene.numberOf(scene.tenantId),
        ),
      'rows of a tenant whose keys do not open': async () => {
        const own = await scene.numberOf(scene.tenantId)
        await scene.reach('UPDATE tokens SET expires_at = 1 WHERE tenant = ?', own)
        for (const { place } of await scene.reach(engine.keyBytes.read, own))
          await scene.reach(engine.keyBytes.write, new Uint8Array(1), place as SQLInputValue)
      },
    }
    for (const [name, build] of Object.entries(obstacles))
      test(`${name} do not keep others from being purged, however many they are (C17.6)`, async () => {
        const { vault, keys } = scene
        const expires_at = new Date(vault.now + hour).toISOString()
        const expiring = await scene.create({ type: 'token', data: 'going', expires_at }, keys.otherGeneral)
        await vault.post(
          '/tokenize',
          keys.general,
          Array.from({ length: 450 }, (_, i) => `value ${i}`),
        )
        await build()
        await vault.restart()
        vault.now += hour
        vault.log.length = 0
        await vault.service.jobTimer.runAll()
        assert.ok(!(await stored(expiring)))
        const [{ n } = { n: 0 }] = await scene.reach('SELECT count(*) AS n FROM tokens')
        assert.equal(n, 450)
      })
  })
}
