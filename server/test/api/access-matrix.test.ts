import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  changeStatus,
  mayCreate,
  type OracleApplication,
  type OracleRule,
  readShows,
  type Shown,
  writeShows,
} from '../rig/access-oracle.ts'
import { granted, type TestReply } from '../rig/answers.ts'
import { newApplication, ownerAndManager } from '../rig/applications.ts'
import { onOneEngine, onSqliteAlone } from '../rig/every-engine.ts'
import { tries } from '../rig/long-run.ts'
import { fc } from '../rig/properties.ts'
import type { TestVault } from '../rig/test-vault.ts'

/**
 * The containers of tokens. Relative to those of the rules below they are equal, above, below, beside, or share a
 * beginning.
 */
const places: readonly (readonly string[])[] = [
  ['/a/b/'],
  ['/a/'],
  ['/a/b/c/'],
  ['/a/bc/'],
  ['/ab/'],
  ['/b/'],
  ['/A/B/'],
  ['/a/b/', '/b/'],
  ['/a/b/c/', '/ab/', '/b/x/'],
  ['/a/', '/a/b/'],
]
const ruleContainers = ['/', '/a/', '/a/b/', '/A/B/', '/a/b/c/', '/a/bc/', '/ab/', '/b/', '/c/']
const transforms: readonly Shown[] = ['reveal', 'mask', 'redact']

/** Three kinds of token, and what each shows as `data` and as `mask`. */
const kinds = [
  {
    define: (serial: number) => ({
      type: 'card',
      data: {
        number: `424242${String(serial).padStart(9, '0')}`,
        expiration_month: 12,
        expiration_year: 2030,
      },
    }),
    masked: (data: { number: string }) => ({ ...data, number: `XXXXXXXXXXXX${data.number.slice(-4)}` }),
    mask: 'evaluated',
  },
  {
    define: (serial: number) => ({
      type: 'token',
      data: `Sensitive Value ${serial + 1_000}`,
      mask: '{{ data | reveal_last: 4 }}',
    }),
    masked: (data: string) => `${'X'.repeat(data.length - 4)}${data.slice(-4)}`,
    mask: 'own',
  },
  {
    define: (serial: number) => ({ type: 'token', data: `Nothing is shown of ${serial}` }),
    masked: () => undefined,
    mask: 'none',
  },
] as const

type Stored = {
  body: { data: unknown; mask?: unknown; [field: string]: unknown }
  kind: (typeof kinds)[number]
}

let serial = 0
/** The definition of a token unlike any other. */
const newToken = (containers: readonly string[], kind = kinds[serial % kinds.length] ?? kinds[0]): Stored => {
  serial++
  const body: Stored['body'] = { ...kind.define(serial), containers, metadata: { serial: `${serial}` } }
  if (body.type === 'card') {
    const data = body.data as { number: string }
    data.number += luhnDigit(data.number)
  }
  return { body, kind }
}

const luhnDigit = (digits: string): string => {
  const sum = [...digits].reverse().reduce((total, digit, at) => {
    const value = at % 2 === 0 ? Number(digit) * 2 : Number(digit)
    return total + (value > 9 ? value - 9 : value)
  }, 0)
  return String((10 - (sum % 10)) % 10)
}

/** The three fields that reveal something about the data, as they must appear. */
const disclosed = ({ body, kind }: Stored, shown: Shown) => {
  const masked = (kind.masked as (data: unknown) => unknown)(body.data)
  return {
    data: shown === 'reveal' ? body.data : shown === 'mask' ? masked : undefined,
    mask:
      kind.mask === 'own' ? body.mask : kind.mask === 'evaluated' && shown !== 'redact' ? masked : undefined,
    hasFingerprint: shown !== 'redact',
  }
}

const assertShows = (
  answer: Record<string, unknown>,
  stored: Stored,
  shown: Shown,
  message: string,
): void => {
  const { data, mask, fingerprint } = answer
  assert.deepEqual(
    { data, mask, hasFingerprint: fingerprint !== undefined },
    disclosed(stored, shown),
    message,
  )
  if (shown === 'reveal') return
  const secret =
    typeof stored.body.data === 'string' ? stored.body.data : (stored.body.data as { number: string }).number
  assert.ok(!JSON.stringify(answer).includes(secret), message)
}

const lower = (containers: readonly string[]): string[] =>
  containers.map(container => container.toLowerCase())

type Population = {
  keys: Record<'owner' | 'manager', string>
  tokens: (Stored & { id: string; at: readonly string[] })[]
}

const only = (permission: string, container: string, transform: Shown): OracleRule => ({
  container,
  transform,
  permissions: [permission],
})

/** One to six rules, in order of priority. */
const anyRules = (...permissions: string[]): fc.Arbitrary<OracleRule[]> =>
  fc.array(
    fc.record({
      container: fc.constantFrom(...ruleContainers),
      transform: fc.constantFrom(...transforms),
      permissions: fc.subarray(permissions, { minLength: 1 }),
    }),
    { minLength: 1, maxLength: 6 },
  )

/** Tenants with tokens in every place, and callers to read and change them. */
const stage = (vault: () => TestVault) => {
  /** A tenant with one token in each place. */
  const populate = async (): Promise<Population> => {
    const { keys } = await vault().tenant(ownerAndManager)
    const stored = places.map(at => newToken(at))
    const made = granted(
      await vault().post(
        '/tokenize',
        keys.owner,
        stored.map(({ body }) => body),
      ),
    )
    const tokens = places.map((at, index) => {
      const { id, containers } = made[index]
      assert.deepEqual(containers, lower(at), 'lower-cased at the edge')
      return { ...(stored[index] ?? newToken(at)), id, at: lower(at) }
    })
    return { keys, tokens }
  }
  const appear = (manager: string, rules: readonly OracleRule[]): Promise<{ key: string }> =>
    newApplication(vault(), manager, { rules: rules.map((rule, priority) => ({ ...rule, priority })) })
  const callerOfChangingRules = async (manager: string) => {
    const { id, key } = await newApplication(vault(), manager, {})
    return {
      key,
      /** Sends the rules in reverse: their priorities decide the order. */
      setRules: async (rules: readonly OracleRule[]): Promise<void> => {
        const body = { name: 'x', rules: rules.map((rule, at) => ({ ...rule, priority: at * 10 })).reverse() }
        granted(await vault().send('PUT', `/applications/${id}`, { key: manager, body }))
      },
    }
  }
  return { populate, appear, callerOfChangingRules }
}

onOneEngine('the access matrix', 'access is decided above storage', (vault, aboveStorage) => {
  const { populate, appear, callerOfChangingRules } = stage(vault)

  /** Everything that a caller can find out about tokens by reading, compared with the oracle. */
  const assertReads = async (
    key: string,
    application: OracleApplication,
    tokens: Population['tokens'],
    message: string,
  ): Promise<void> => {
    const visible = new Map<string, Shown>()
    // At once: requests that arrive together are answered in the same turns, which costs less.
    const replies = await Promise.all(tokens.map(({ id }) => vault().get(`/tokens/${id}`, key)))
    for (const [index, token] of tokens.entries()) {
      const shown = readShows(application, token.at)
      const reply = replies[index]
      assert.equal(reply?.status, shown === undefined ? 404 : 200, `get ${token.at}: ${message}`)
      if (shown === undefined) continue
      visible.set(token.id, shown)
      assertShows(reply?.body, token, shown, `get ${token.at}: ${message}`)
    }
    const list = granted(await vault().get('/tokens?size=100', key))
    assert.equal(list.pagination.total_items, visible.size, `count: ${message}`)
    assert.deepEqual(
      list.data.map(({ id }: { id: string }) => id).sort(),
      [...visible.keys()].sort(),
      `list: ${message}`,
    )
    for (const answer of list.data) {
      const token = tokens.find(({ id }) => id === answer.id)
      assert.ok(token)
      assertShows(answer, token, visible.get(answer.id) ?? 'redact', `list ${token.at}: ${message}`)
    }
    const byCursor = granted(await vault().get('/v2/tokens?size=100', key))
    assert.deepEqual(byCursor.data, list.data, `list by cursor: ${message}`)
    const byId = granted(await vault().get(`/tokens?${tokens.map(({ id }) => `id=${id}`).join('&')}`, key))
    assert.equal(byId.pagination.total_items, visible.size, `list by id: ${message}`)
  }

  aboveStorage(() => {
    for (const container of ruleContainers)
      test(`a rule on ${container} decides what a read shows in every place (C28.7, C28.8, C28.9, C12.1, §5.12)`, async () => {
        const { keys, tokens } = await populate()
        for (const transform of transforms) {
          const rules = [only('token:read', container, transform)]
          const { key } = await appear(keys.manager, rules)
          await assertReads(key, { rules }, tokens, JSON.stringify(rules))
        }
      })
  })

  const searchForAll = { query: 'type:card OR type:token', size: 100 }
  /** The same for a search: it finds tokens that the caller may both search and read, shown as the caller reads them. */
  const assertSearch = async (
    key: string,
    application: OracleApplication,
    tokens: Population['tokens'],
    message: string,
  ): Promise<void> => {
    const found = tokens.filter(
      ({ at }) =>
        readShows(application, at) !== undefined && readShows(application, at, 'token:search') !== undefined,
    )
    const { pagination, data } = granted(await vault().post('/tokens/search', key, searchForAll))
    assert.equal(pagination.total_items, found.length, `search: ${message}`)
    assert.deepEqual(
      data.map((token: { id: string }) => token.id).sort(),
      found.map(token => token.id).sort(),
      `search: ${message}`,
    )
    for (const answer of data) {
      const token = found.find(({ id }) => id === answer.id)
      assert.ok(token)
      const shown = readShows(application, token.at) ?? 'redact'
      assertShows(answer, token, shown, `search ${token.at}: ${message}`)
    }
  }

  test('reads and searches in every place match the oracle, whatever the rules (C24.5, C26.2, C28.7, C28.8, C28.9)', async () => {
    const { keys, tokens } = await populate()
    const { key, setRules } = await callerOfChangingRules(keys.manager)
    await fc.assert(
      fc.asyncProperty(anyRules('token:create', 'token:read', 'token:search'), async rules => {
        await setRules(rules)
        const holds = (permission: string) =>
          rules.some(({ permissions }) => permissions.includes(permission))
        const message = JSON.stringify(rules)
        if (holds('token:read')) await assertReads(key, { rules }, tokens, message)
        else assert.equal((await vault().get('/tokens', key)).status, 403, message)
        if (holds('token:search')) await assertSearch(key, { rules }, tokens, message)
        else assert.equal((await vault().post('/tokens/search', key, searchForAll)).status, 403, message)
      }),
      { numRuns: tries(15) },
    )
  })

  test('flat permissions act as a rule on every container under mask (C28.6)', async () => {
    const { keys, tokens } = await populate()
    const { key } = await newApplication(vault(), keys.manager, { permissions: ['token:read'] })
    await assertReads(key, { rules: [only('token:read', '/', 'mask')] }, tokens, 'flat')
    const writer = await newApplication(vault(), keys.manager, {
      permissions: ['token:create', 'token:update'],
    })
    for (const token of tokens) {
      assertShows(
        granted(await vault().patch(`/tokens/${token.id}`, writer.key, {})),
        token,
        'mask',
        'flat patch',
      )
      const twin = newToken(token.at)
      assertShows(granted(await vault().post('/tokens', writer.key, twin.body)), twin, 'mask', 'flat create')
      assert.equal((await vault().get(`/tokens/${token.id}`, writer.key)).status, 403)
    }
  })
})

onSqliteAlone('the access matrix', 'what a write may do and show is decided above storage', vault => {
  const { populate, appear, callerOfChangingRules } = stage(vault)

  test('writes in every place match the oracle, whatever the rules (C28.7, C28.8, C28.10, C12.2, C12.3)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    const { key, setRules } = await callerOfChangingRules(keys.manager)
    await fc.assert(
      fc.asyncProperty(
        anyRules('token:create', 'token:read', 'token:update', 'token:delete'),
        fc.constantFrom(...places),
        async (rules, at) => {
          await setRules(rules)
          const message = `${at}: ${JSON.stringify(rules)}`
          const token = newToken(at)
          const created = await vault().post('/tokens', key, token.body)
          assert.equal(
            created.status,
            mayCreate({ rules }, 'token:create', at) ? 201 : 403,
            `create in ${message}`,
          )
          if (created.status === 201)
            assertShows(
              created.body,
              token,
              writeShows({ rules }, 'token:create', at),
              `create in ${message}`,
            )
          const made =
            created.status === 201 ? created : await vault().post('/tokens', keys.owner, token.body)
          const path = `/tokens/${granted(made).id}`
          const patched = await vault().patch(path, key, {})
          assert.equal(
            patched.status,
            changeStatus({ rules }, 'token:update', at, 200),
            `patch in ${message}`,
          )
          if (patched.status === 200)
            assertShows(patched.body, token, writeShows({ rules }, 'token:update', at), `patch in ${message}`)
          const deleted = await vault().delete(path, key)
          assert.equal(
            deleted.status,
            changeStatus({ rules }, 'token:delete', at, 204),
            `delete in ${message}`,
          )
        },
      ),
      { numRuns: tries(15) },
    )
  })

  for (const container of ruleContainers)
    test(`a rule on ${container} decides where a token can be created and what the answer shows (C28.10, C2.12, C12.2, C12.3, §4.1.2)`, async () => {
      const { keys } = await vault().tenant(ownerAndManager)
      const stored = async (): Promise<number> =>
        granted(await vault().get('/tokens', keys.owner)).pagination.total_items
      for (const transform of transforms) {
        const application = { rules: [only('token:create', container, transform)] }
        const { key } = await appear(keys.manager, application.rules)
        let count = await stored()
        // All at once, so that they share a commit.
        const made = await Promise.all(
          places.flatMap(at => {
            const [one, two] = [newToken(at), newToken(at)]
            return [
              vault()
                .post('/tokens', key, one.body)
                .then(reply => ({ at, token: one, reply, answer: reply.body })),
              vault()
                .post('/tokenize', key, { deep: [two.body] })
                .then(reply => ({ at, token: two, reply, answer: reply.body.deep?.[0] })),
            ]
          }),
        )
        for (const { at, token, reply, answer } of made) {
          const message = `in ${at}: ${JSON.stringify(application.rules)}`
          if (mayCreate(application, 'token:create', at)) {
            granted(reply)
            assertShows(answer, token, writeShows(application, 'token:create', at), message)
            count++
          } else assert.equal(reply.status, 403, message)
        }
        assert.equal(await stored(), count, 'what was refused is not there')
        // One element that may not be created keeps the others out (C23.5).
        const mixed = [newToken(['/a/b/']).body, newToken(['/c/']).body]
        const both = mayCreate(application, 'token:create', ['/a/b/', '/c/'])
        assert.equal((await vault().post('/tokenize', key, mixed)).status, both ? 200 : 403)
        assert.equal(await stored(), count + (both ? 2 : 0))
        // A plain value goes into its type's container.
        const plain = await vault().post('/tokenize', key, 'x')
        assert.equal(plain.status, mayCreate(application, 'token:create', ['/general/high/']) ? 200 : 403)
      }
    })

  for (const container of ruleContainers)
    test(`a rule on ${container} decides which tokens can be changed and what the answer shows (C28.9, C28.10, C2.13, C12.2, C12.3)`, async () => {
      const { keys, tokens } = await populate()
      for (const transform of transforms) {
        const application = { rules: [only('token:update', container, transform)] }
        const { key } = await appear(keys.manager, application.rules)
        await Promise.all(
          tokens.map(async token => {
            const message = `${token.at}: ${JSON.stringify(application.rules)}`
            const before = (await vault().get(`/tokens/${token.id}`, keys.owner)).text
            const reply = await vault().patch(`/tokens/${token.id}`, key, { metadata: { by: transform } })
            assert.equal(reply.status, changeStatus(application, 'token:update', token.at, 200), message)
            const after = await vault().get(`/tokens/${token.id}`, keys.owner)
            if (reply.status === 200) {
              assertShows(reply.body, token, writeShows(application, 'token:update', token.at), message)
              assert.equal(after.body.metadata.by, transform)
            } else assert.equal(after.text, before, message)
          }),
        )
      }
    })

  for (const container of ruleContainers)
    test(`a rule on ${container} decides which tokens can be deleted (C28.9, C28.10, C2.13, C1.4)`, async () => {
      const { keys } = await vault().tenant(ownerAndManager)
      for (const transform of transforms) {
        const application = { rules: [only('token:delete', container, transform)] }
        const { key } = await appear(keys.manager, application.rules)
        const tokens: { id: string }[] = granted(
          await vault().post(
            '/tokenize',
            keys.owner,
            places.map(at => newToken(at).body),
          ),
        )
        const replies = await Promise.all(tokens.map(({ id }) => vault().delete(`/tokens/${id}`, key)))
        for (const [index, at] of places.entries()) {
          const reply = replies[index]
          const expected = changeStatus(application, 'token:delete', at, 204)
          assert.equal(reply?.status, expected, `${at}: ${JSON.stringify(application.rules)}`)
          assert.equal(reply?.text === '', expected === 204)
          const left = await vault().get(`/tokens/${tokens[index]?.id}`, keys.owner)
          assert.equal(left.status, expected === 204 ? 404 : 200)
        }
      }
    })

  const readings: readonly (Shown | undefined)[] = [undefined, 'redact', 'mask', 'reveal']
  const fieldsOf = (answer: object): string[] => Object.keys(answer).sort()

  for (const read of readings)
    for (const write of transforms) {
      const application: OracleApplication = {
        rules: [
          ...(read === undefined ? [] : [only('token:read', '/a/', read)]),
          {
            container: '/a/',
            transform: write,
            permissions: ['token:create', 'token:update', 'token:delete'],
          },
        ],
      }
      const who = `a caller who writes under ${write} and ${read === undefined ? 'cannot read' : `reads under ${read}`}`

      test(`${who} sees only what the rules allow in the answers to its writes (C12.2, C12.3, C12.7, C13.2)`, async () => {
        const { keys } = await vault().tenant(ownerAndManager)
        const { key } = await appear(keys.manager, application.rules)
        const shown = (permission: string) => writeShows(application, permission, ['/a/b/'])
        for (const kind of kinds) {
          const token = newToken(['/a/b/'], kind)
          const made = granted(await vault().post('/tokens', key, token.body))
          assertShows(made, token, shown('token:create'), 'create')
          const [composite] = granted(await vault().post('/tokenize', key, [newToken(['/a/b/'], kind).body]))
          assert.deepEqual('fingerprint' in composite, 'fingerprint' in made)
          assertShows(
            granted(await vault().patch(`/tokens/${made.id}`, key, {})),
            token,
            shown('token:update'),
            'patch {}',
          )
          const next = newToken(['/a/b/'], kind)
          const patched = await vault().patch(`/tokens/${made.id}`, key, { data: next.body.data })
          assertShows(granted(patched), next, shown('token:update'), 'patch of data')
          const reading = await vault().get(`/tokens/${made.id}`, key)
          assert.equal(reading.status, read === undefined ? 403 : 200)
          if (read !== undefined) assertShows(reading.body, next, read, 'get')
        }
      })

      test(`${who} hits a duplicate (C15.5, C15.7, C15.8, C12.7, §4.5.14)`, async () => {
        const { keys } = await vault().tenant(ownerAndManager)
        const { key } = await appear(keys.manager, application.rules)
        const shown = writeShows(application, 'token:create', ['/a/b/'])
        for (const kind of kinds) {
          const token = newToken(['/a/b/'], kind)
          const existing = granted(
            await vault().post('/tokens', keys.owner, {
              ...token.body,
              search_indexes: ['{{ data | stringify }}'],
            }),
          )
          const other = granted(await vault().post('/tokens', keys.owner, newToken(['/a/b/'], kind).body))
          const twin = { ...token.body, metadata: { by: 'the second' }, deduplicate_token: true }
          const hits: Record<string, Record<string, unknown>> = {
            create: granted(await vault().post('/tokens', key, twin)),
            tokenize: granted(await vault().post('/tokenize', key, { deep: [twin] })).deep[0],
            patch: granted(
              await vault().patch(`/tokens/${other.id}`, key, {
                data: token.body.data,
                deduplicate_token: true,
              }),
            ),
          }
          for (const [path, answer] of Object.entries(hits)) {
            assert.equal(answer.id, existing.id, path)
            assert.deepEqual(answer._extras, { deduplicated: true })
            if (read === undefined) {
              const fields = ['_extras', 'containers', 'created_at', 'created_by', 'id', 'tenant_id', 'type']
              assert.deepEqual(
                fieldsOf(answer),
                shown === 'redact' ? fields : [...fields, 'fingerprint'].sort(),
                path,
              )
            } else {
              assertShows(answer, token, shown, path)
              assert.deepEqual(answer.metadata, existing.metadata, 'unchanged')
              assert.deepEqual(answer.search_indexes, existing.search_indexes)
            }
          }
          const after = granted(await vault().get(`/tokens/${other.id}`, keys.owner))
          assert.notDeepEqual(after.data, token.body.data, 'the patched token is as it was')
        }
      })

      for (const [field, value] of Object.entries({
        mask: '{{ data | stringify }}',
        fingerprint_expression: '{{ data | stringify }} ',
        search_indexes: ['{{ data | stringify }}'],
        containers: ['/a/c/'],
      }))
        test(`${who} ${read === 'mask' || read === 'redact' ? `may not change ${field}` : `may change ${field} but learns nothing from it`} (C13.1, C13.2, C13.4)`, async () => {
          const { keys } = await vault().tenant(ownerAndManager)
          const { key } = await appear(keys.manager, application.rules)
          const token = newToken(['/a/b/'], kinds[1])
          const { id } = granted(await vault().post('/tokens', keys.owner, token.body))
          const content = async () => {
            const { modified_at, modified_by, ...rest } = granted(
              await vault().get(`/tokens/${id}`, keys.owner),
            )
            return rest
          }
          const before = await content()
          const secret = String(token.body.data)
          const own = 'what the caller sends itself'
          for (const patch of [{ [field]: value }, { [field]: null }, { data: own, [field]: value }]) {
            const reply = await vault().patch(`/tokens/${id}`, key, patch)
            if (read === 'mask' || read === 'redact') {
              // The token has the default of either, so that null changes nothing.
              const isChange =
                patch[field] !== null || (field !== 'fingerprint_expression' && field !== 'search_indexes')
              assert.equal(reply.status, isChange ? 403 : 200, JSON.stringify(patch))
              if (isChange)
                assert.equal(
                  reply.body.detail,
                  'Changing mask, fingerprint_expression, search_indexes or containers needs reveal on the token, and so does deduplicate_token if the token has no fingerprint.',
                )
              assert.deepEqual(await content(), before)
            } else if (field === 'containers' && value !== null && patch[field] === null)
              assert.equal(reply.status, 403, 'the default container is not covered')
            else {
              assert.equal(reply.status, 200, reply.text)
              const isBlind = read === undefined && (field === 'mask' || field === 'fingerprint_expression')
              if (write === 'redact' || (isBlind && patch.data === undefined)) {
                assert.equal(reply.body.data, undefined)
                assert.equal(reply.body.fingerprint, undefined)
              } else if (field === 'mask' && patch.data !== undefined) assert.equal(reply.body.data, own)
              if (read === undefined)
                assert.ok(!reply.text.includes(secret), 'nothing of what it cannot read')
            }
          }
        })
    }

  for (const from of readings)
    for (const to of readings)
      test(`a move from where the caller ${from === undefined ? 'cannot read' : `reads under ${from}`} to where it ${to === undefined ? 'cannot read' : `reads under ${to}`} (C13.4, C13.5, C19.5)`, async () => {
        const { keys } = await vault().tenant(ownerAndManager)
        const application: OracleApplication = {
          rules: [
            only('token:update', '/', 'mask'),
            ...(from === undefined ? [] : [only('token:read', '/from/', from)]),
            ...(to === undefined ? [] : [only('token:read', '/to/', to)]),
          ],
        }
        const { key } = await appear(keys.manager, application.rules)
        const token = newToken(['/from/'])
        const { id } = granted(await vault().post('/tokens', keys.owner, token.body))
        const reply = await vault().patch(`/tokens/${id}`, key, { containers: ['/to/'] })
        const looksBetter = from === undefined && to !== undefined
        const isGuarded = from === 'mask' || from === 'redact'
        assert.equal(reply.status, looksBetter || isGuarded ? 403 : 200, reply.text)
        const after = granted(await vault().get(`/tokens/${id}`, keys.owner))
        assert.deepEqual(after.containers, reply.status === 200 ? ['/to/'] : ['/from/'])
      })

  test('a mask set blindly shows nothing until a caller with reveal sets it (C13.1, C13.2, C13.3)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    const [one, two] = [
      await appear(keys.manager, [only('token:update', '/', 'mask')]),
      await appear(keys.manager, [
        { container: '/', transform: 'mask', permissions: ['token:update', 'token:create'] },
      ]),
    ]
    const token = newToken(['/a/'], kinds[1])
    const { id } = granted(await vault().post('/tokens', keys.owner, token.body))
    const touch = async (key: string): Promise<Record<string, unknown>> =>
      granted(await vault().patch(`/tokens/${id}`, key, {}))
    assertShows(await touch(two.key), token, 'mask', 'before')
    granted(await vault().patch(`/tokens/${id}`, one.key, { mask: '{{ data }}' }))
    for (const key of [one.key, two.key]) {
      const { data, fingerprint } = await touch(key)
      assert.deepEqual([data, fingerprint], [undefined, undefined])
    }
    const twin = { ...token.body, deduplicate_token: true }
    assert.equal(granted(await vault().post('/tokens', two.key, twin))._extras.deduplicated, false)
    granted(await vault().patch(`/tokens/${id}`, keys.owner, { mask: token.body.mask }))
    assertShows(await touch(two.key), token, 'mask', 'after')
  })

  test('a caller who cannot read a token and writes data with a mask sees its own data under that mask once (§2.1.22, C13.1)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    const { key } = await appear(keys.manager, [only('token:update', '/', 'mask')])
    const token = newToken(['/a/'], kinds[1])
    const { id } = granted(await vault().post('/tokens', keys.owner, token.body))
    const patch = async (by: string, body: object): Promise<Record<string, unknown>> =>
      granted(await vault().patch(`/tokens/${id}`, by, body))
    const mask = '{{ data | reveal_last: 4 }}'
    const written = await patch(key, { data: 'Sensitive Value', mask, fingerprint_expression: '{{ data }}' })
    assert.equal(written.data, 'XXXXXXXXXXXalue')
    assert.equal(typeof written.fingerprint, 'string')
    await patch(keys.owner, { data: 'Somebody Else' })
    const later = await patch(key, {})
    assert.deepEqual([later.data, later.fingerprint], [undefined, undefined])
  })

  test('a mask and a fingerprint expression set to their current values are not blind (§2.1.22, C13.1)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    const { key } = await appear(keys.manager, [only('token:update', '/', 'mask')])
    const fields = {
      mask: { a: '{{ data.a | reveal_last: 4 }}', b: '{{ data.b }}' },
      fingerprint_expression: '{{ data.a }}',
    }
    const body = { type: 'token', containers: ['/a/'], data: { a: 'Sensitive Value', b: 1 }, ...fields }
    const made = granted(await vault().post('/tokens', keys.owner, body))
    const same = { ...fields, mask: { b: '{{ data.b }}', a: fields.mask.a } }
    const reply = granted(await vault().patch(`/tokens/${made.id}`, key, same))
    assert.deepEqual([reply.data, reply.fingerprint], [{ a: 'XXXXXXXXXXXalue', b: 1 }, made.fingerprint])
    const changed = granted(await vault().patch(`/tokens/${made.id}`, key, { mask: { b: 'b' } }))
    assert.equal(changed.data, undefined)
    const again = granted(await vault().patch(`/tokens/${made.id}`, key, { mask: { b: 'b' } }))
    assert.equal(again.data, undefined, 'saying it twice makes no difference')
  })

  test('a mask or fingerprint expression set to the default already in force counts as unchanged (C13.1, C12.6, C18.3)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    const { key } = await appear(keys.manager, [only('token:update', '/', 'mask')])
    const card = { type: 'card', data: { number: '4242424242424242' }, containers: ['/a/'] }
    const text = { type: 'token', data: 'Sensitive Value', containers: ['/a/'] }
    for (const [body, patch] of [
      [text, { fingerprint_expression: '{{ data | stringify }}' }],
      [text, { mask: null }],
      [card, { mask: {} }],
      [card, { mask: { none: null } }],
      [card, { mask: { number: '{{ data.number | reveal_last: 4 }}' } }],
      [card, { fingerprint_expression: '{{ data.number }}' }],
    ] as const) {
      const made = granted(await vault().post('/tokens', keys.owner, body))
      const reply = granted(await vault().patch(`/tokens/${made.id}`, key, patch))
      assert.deepEqual(
        [reply.data, reply.mask, reply.fingerprint],
        [made.data, made.mask, made.fingerprint],
        JSON.stringify(patch),
      )
    }
  })

  test('a fingerprint first requested by a caller who cannot read the token is blind (C13.1, C14.5)', async () => {
    const { keys } = await vault().tenant(ownerAndManager, { fingerprintTokens: false })
    const { key } = await appear(keys.manager, [only('token:update', '/', 'mask')])
    const made = granted(await vault().post('/tokens', keys.owner, { type: 'token', data: 'x' }))
    const patch = { fingerprint_expression: made.fingerprint_expression }
    assert.equal(granted(await vault().patch(`/tokens/${made.id}`, key, patch)).fingerprint, undefined)
  })

  test('a move never makes the answers to writes show more, at once or later (C12.3, C13.5)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    const { key } = await appear(keys.manager, [
      only('token:update', '/a/', 'redact'),
      only('token:update', '/b/', 'mask'),
    ])
    const reading = await appear(keys.manager, [
      only('token:update', '/a/', 'redact'),
      only('token:update', '/b/', 'mask'),
      only('token:read', '/', 'reveal'),
    ])
    const made = async (containers: string[]): Promise<string> => {
      const mask = '{{ data | reveal_last: 4 }}'
      const body = { type: 'token', data: 'Sensitive Value', mask, containers }
      return granted(await vault().post('/tokens', keys.owner, body)).id
    }
    for (const from of [['/a/'], ['/a/', '/b/']]) {
      const id = await made(from)
      assert.equal((await vault().patch(`/tokens/${id}`, key, { containers: ['/b/'] })).status, 403)
      const shown = granted(await vault().patch(`/tokens/${id}`, key, {}))
      assert.deepEqual([shown.data, shown.containers], [undefined, from])
      // To a caller who can read the token anyway, the move shows nothing.
      granted(await vault().patch(`/tokens/${id}`, reading.key, { containers: ['/b/'] }))
    }
    const id = await made(['/b/'])
    assert.equal(granted(await vault().patch(`/tokens/${id}`, key, { containers: ['/a/'] })).data, undefined)
  })

  test('mask leaves set blindly stay blind until a caller with reveal sets the whole mask (C13.1, C13.2)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    const { key } = await appear(keys.manager, [only('token:update', '/', 'mask')])
    const body = { type: 'token', data: { ssn: '123456789' }, mask: { a: 'x' } }
    const { id } = granted(await vault().post('/tokens', keys.owner, body))
    granted(await vault().patch(`/tokens/${id}`, key, { mask: { x: '{{ data.ssn }}' } }))
    granted(await vault().patch(`/tokens/${id}`, keys.owner, { mask: { title: 'Person' } }))
    assert.equal(granted(await vault().patch(`/tokens/${id}`, key, {})).data, undefined)
    granted(await vault().patch(`/tokens/${id}`, keys.owner, { mask: { a: null, x: null, title: 'Person' } }))
    assert.deepEqual(granted(await vault().patch(`/tokens/${id}`, key, {})).data, { title: 'Person' })
  })

  test('a caller who reads under mask or redact may send guarded fields as they are, and learns nothing (C13.4)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    const body = {
      type: 'token',
      data: 'a secret of some length',
      mask: { shown: '{{ data | reveal_last: 4 }}' },
      search_indexes: ['{{ data | last4 }}', '{{ data }}'],
      fingerprint_expression: '{{ data | upcase }}',
      containers: ['/a/b/', '/a/c/'],
    }
    const { id } = granted(await vault().post('/tokens', keys.owner, body))
    const { data: _data, type: _type, ...guarded } = body
    for (const transform of ['mask', 'redact'] as const) {
      const permissions = ['token:read', 'token:update'] as const
      const { key } = await appear(keys.manager, [{ container: '/', transform, permissions }])
      const seen = granted(await vault().get(`/tokens/${id}`, key))
      const reply = await vault().patch(`/tokens/${id}`, key, {
        ...guarded,
        containers: ['/A/c/', '/a/b/'],
        metadata: { by: transform },
      })
      assert.equal(reply.status, 200, reply.text)
      const { metadata, modified_at, modified_by, containers, ...rest } = reply.body
      assert.deepEqual(metadata, { by: transform })
      assert.deepEqual([...containers].sort(), [...seen.containers].sort())
      for (const [field, value] of Object.entries(rest)) assert.deepEqual(value, seen[field], field)
      for (const patch of [
        { ...guarded, mask: { shown: '{{ data | reveal_last: 5 }}' } },
        { ...guarded, mask: { more: '{{ data | last4 }}' } },
        { ...guarded, search_indexes: [...guarded.search_indexes].reverse() },
        { ...guarded, fingerprint_expression: '{{ data | downcase }}' },
        { ...guarded, containers: ['/a/b/'] },
      ])
        assert.equal((await vault().patch(`/tokens/${id}`, key, patch)).status, 403, JSON.stringify(patch))
    }
    const owned = granted(await vault().get(`/tokens/${id}`, keys.owner))
    for (const [field, value] of Object.entries(guarded))
      assert.deepEqual(field === 'containers' ? [...owned[field]].sort() : owned[field], value)
  })

  test('a caller who reads under mask cannot take a fingerprint away (C13.4)', async () => {
    const { keys } = await vault().tenant(ownerAndManager, { fingerprintTokens: false })
    const permissions = ['token:read', 'token:update'] as const
    const { key } = await appear(keys.manager, [{ container: '/', transform: 'mask', permissions }])
    const body = { type: 'token', data: 'a value', fingerprint_expression: '{{ data | stringify }}' }
    const { id, fingerprint } = granted(await vault().post('/tokens', keys.owner, body))
    assert.ok(fingerprint)
    const patch = { fingerprint_expression: null }
    assert.equal((await vault().patch(`/tokens/${id}`, key, patch)).status, 403)
    assert.equal(granted(await vault().get(`/tokens/${id}`, keys.owner)).fingerprint, fingerprint)
  })

  test('the expiry of a card can be changed under a mask that shows it (C13.1, C13.4)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    const writer = await appear(keys.manager, [only('token:update', '/', 'mask')])
    const masked = await appear(keys.manager, [
      only('token:update', '/', 'mask'),
      only('token:read', '/', 'mask'),
    ])
    const body = {
      type: 'card',
      data: { number: '4242424242424242', expiration_month: 3, expiration_year: 2030 },
      mask: { number: '{{ data.number | reveal_last: 4 }}', exp: "{{ data | card_exp: 'MM/YY' }}" },
      containers: ['/a/'],
    }
    for (const { key } of [writer, masked]) {
      const { id, fingerprint } = granted(await vault().post('/tokens', keys.owner, body))
      const patch = { data: { expiration_year: 2031 } }
      const reply = granted(await vault().patch(`/tokens/${id}`, key, patch))
      assert.deepEqual([reply.data.exp, reply.fingerprint], ['03/31', fingerprint])
    }
  })

  test('a public application may change only data, metadata and expiry, whatever its rules (C28.3)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    const { key } = await newApplication(vault(), keys.manager, {
      type: 'public',
      rules: [
        { priority: 1, container: '/', transform: 'reveal', permissions: ['token:create', 'token:update'] },
      ],
    })
    const token = newToken(['/a/'], kinds[1])
    const made = granted(await vault().post('/tokens', key, token.body))
    assertShows(made, token, 'mask', 'never reveal')
    const patches: [number, Record<string, unknown>][] = [
      [200, { data: token.body.data }],
      [200, { metadata: { a: 'b' } }],
      [200, { expires_at: '2030-01-01' }],
      [200, {}],
      [403, { mask: '{{ data }}' }],
      [403, { mask: null }],
      [403, { containers: ['/b/'] }],
      [403, { search_indexes: [] }],
      [403, { fingerprint_expression: '{{ data }}' }],
      [403, { deduplicate_token: true }],
      [403, { data: 'x', mask: null }],
    ]
    for (const [status, patch] of patches) {
      const reply: TestReply = await vault().patch(`/tokens/${made.id}`, key, patch)
      assert.equal(reply.status, status, JSON.stringify(patch))
    }
    assert.equal(granted(await vault().get(`/tokens/${made.id}`, keys.owner)).data, token.body.data)
  })
})
