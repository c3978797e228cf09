import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onSqliteAlone } from '../rig/every-engine.ts'
import { sendAndExpect } from '../rig/scenario.ts'
import { owner, type TestVault } from '../rig/test-vault.ts'
import { assertAbsent } from '../rig/traces.ts'

/** Where a body can be sent; `a-token` exists. */
const doors = [
  { method: 'POST', path: '/tokens' },
  { method: 'POST', path: '/tokenize' },
  { method: 'PATCH', path: '/tokens/a-token' },
] as const

const withToken = async (vault: TestVault): Promise<string> => {
  const { keys } = await vault.tenant({ owner })
  await vault.create(keys.owner, { id: 'a-token', type: 'token', data: { kept: true } })
  return keys.owner
}

const notJson: readonly { name: string; bodies: readonly string[] }[] = [
  { name: 'an empty or blank body', bodies: ['', ' ', '\n\t '] },
  {
    name: 'an incomplete value',
    bodies: ['{', '[1,2', '"Sensitive', '{"type":"token","data":', '{"a"', 'tru', '-', '1e'],
  },
  {
    name: 'syntax that only JavaScript accepts',
    bodies: [
      "{'a':1}",
      '{a:1}',
      '{"a":1,}',
      '[1,]',
      'undefined',
      'NaN',
      'Infinity',
      '01',
      '+1',
      '.5',
      '1.',
      '0x10',
      '1_000',
      '// x\n{}',
      '/**/{}',
    ],
  },
  {
    name: 'more than one value',
    bodies: ['{} {}', '{"type":"token","data":"Sensitive Value"}x', '1 2', '[]]', 'null,'],
  },
  { name: 'a byte order mark', bodies: ['\ufeff{}'] },
  { name: 'control characters in a string', bodies: ['"a\nb"', '"a\u0000b"', '"a\tb"'] },
  { name: 'bad escapes', bodies: ['"\\x41"', '"\\u12"', '"\\', '"\\u{41}"'] },
]

const notUtf8: readonly { name: string; bytes: readonly number[] }[] = [
  { name: 'a byte that never occurs', bytes: [0xff] },
  { name: 'half a character', bytes: [0xc3] },
  { name: 'a lone continuation byte', bytes: [0x80] },
  { name: 'an overlong slash', bytes: [0xc0, 0xaf] },
  { name: 'an encoded surrogate', bytes: [0xed, 0xa0, 0x80] },
  { name: 'a code point beyond the last', bytes: [0xf4, 0x90, 0x80, 0x80] },
  { name: 'Latin-1', bytes: [0x63, 0x61, 0x66, 0xe9] },
]

onSqliteAlone('bodies that are not JSON', 'refused before storage is asked', vault => {
  for (const { name, bodies } of notJson)
    test(`${name}: 400 on every path, with nothing stored or repeated (C2.10, C2.5)`, async () => {
      const key = await withToken(vault())
      for (const door of doors)
        for (const raw of bodies) {
          const reply = await sendAndExpect(
            vault(),
            { key, counter: key },
            { ...door, raw },
            { status: 400, errors: ['$'] },
          )
          assertAbsent({ body: reply.text }, ['Sensitive', 'Infinity', 'undefined', '1_000'])
        }
    })

  for (const { name, bytes } of notUtf8)
    test(`invalid UTF-8 is 400: ${name} (C2.10)`, async () => {
      const key = await withToken(vault())
      const raw = Buffer.concat([
        Buffer.from('{"type":"token","data":"'),
        Buffer.from(bytes),
        Buffer.from('"}'),
      ])
      for (const door of doors)
        await sendAndExpect(vault(), { key, counter: key }, { ...door, raw }, { status: 400, errors: ['$'] })
    })

  test('32 levels of nesting are kept, 33 or more are refused (C8.3, C2.10)', async () => {
    const key = await withToken(vault())
    const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)
    const objects = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
    const fine = [`{"type":"token","data":${nested(31)}}`, `{"type":"token","data":${objects(31)}}`]
    for (const raw of fine) {
      const created = await vault().send('POST', '/tokens', { key, raw })
      assert.equal(created.status, 201, created.text)
      const read = await vault().get(`/tokens/${created.body.id}`, key)
      assert.ok(raw.endsWith(`${JSON.stringify(read.body.data)}}`))
      assert.equal(
        (await vault().send('PATCH', '/tokens/a-token', { key, raw: raw.replace('"type":"token",', '') }))
          .status,
        200,
      )
    }
    for (const raw of [
      nested(33),
      objects(33),
      nested(10_000),
      objects(10_000),
      '['.repeat(1_000_000),
      '{"a":'.repeat(200_000),
      `{"data":${nested(32)}}`,
    ])
      for (const door of doors)
        await sendAndExpect(vault(), { key, counter: key }, { ...door, raw }, { status: 400, errors: ['$'] })
  })

  test('a number that no double holds is told what is wrong like any other (C2.5, C7.1)', async () => {
    const key = await withToken(vault())
    for (const body of [
      '{"type":%,"data":1}',
      '{"type":"token","data":1,"metadata":%}',
      '{"type":"token","data":1,"containers":[%]}',
    ]) {
      const [small, large] = await Promise.all(
        ['5', '12345678901234567890'].map(number =>
          vault().send('POST', '/tokens', { key, raw: body.replace('%', number) }),
        ),
      )
      assert.equal(small?.status, 400)
      assert.deepEqual(large?.body.errors, small?.body.errors, body)
    }
  })

  test('a body that is not an object is refused (C2.10, C7.1)', async () => {
    const key = await withToken(vault())
    for (const raw of ['null', 'true', '1', '1e400', '12345678901234567890', '""', '"text"', '[]', '[{}]'])
      for (const door of [doors[0], doors[2]]) {
        const reply = await sendAndExpect(vault(), { key, counter: key }, { ...door, raw }, { status: 400 })
        assert.deepEqual(reply.body.errors, { $: ['must be an object'] })
      }
  })
})

/** Every kind of JSON value that a field may be sent; the fourth is a number that no double holds. */
const values = ['null', 'true', '1', '1e400', '""', '"x"', '[]', '{}', '[null]'] as const
type Value = (typeof values)[number]

/** The values that a create and an update accept for a field; every other value is refused at that field. */
type Field = {
  readonly name: string
  readonly field: string
  readonly create: readonly Value[]
  readonly update: readonly Value[]
}
const takes = (name: string, field: string, right: readonly Value[]): Field => ({
  name,
  field,
  create: right,
  update: right,
})
const fields: readonly Field[] = [
  { name: 'id (C5.3, C16.7)', field: 'id', create: ['null'], update: [] },
  takes('type (C2.10, C16.7)', 'type', []),
  takes('tenant_id (C6.1, C16.7)', 'tenant_id', []),
  takes(
    'data (C5.4, C7.1, C18.3)',
    'data',
    values.filter(value => value !== 'null'),
  ),
  takes('mask (C5.3, C18.1)', 'mask', values),
  takes('metadata (C5.3, C18.1)', 'metadata', ['null', '{}']),
  takes('search_indexes (C5.3, C18.1)', 'search_indexes', ['null', '[]']),
  takes('expires_at (C5.3, C18.1)', 'expires_at', ['null']),
  takes('containers (C5.3, C18.2)', 'containers', ['null']),
  takes('fingerprint_expression (C5.3, C18.2)', 'fingerprint_expression', ['null', '"x"']),
  takes('deduplicate_token (C5.3, C18.2)', 'deduplicate_token', ['null', 'true']),
]
const told = (right: readonly Value[]): string => right.join(' ') || 'none of the values tried'

onSqliteAlone('fields of the wrong JSON type', 'refused before storage is asked', vault => {
  /** Exactly one place: the field itself or its first element. */
  const assertPlace = (errors: Record<string, string[]>, field: string): void => {
    const places = Object.keys(errors)
    assert.deepEqual(places, [places[0] === `${field}[0]` ? `${field}[0]` : field])
  }

  for (const { name, field, create: right } of fields)
    test(`${name}: a create accepts ${told(right)}`, async () => {
      const { keys } = await vault().tenant({ owner })
      for (const [at, value] of values.entries()) {
        const body = { type: '"token"', data: `"Sensitive Value ${at}"`, [field]: value }
        const raw = `{${Object.entries(body)
          .map(([name, text]) => `"${name}":${text}`)
          .join()}}`
        const isRight = right.includes(value)
        const reply = await sendAndExpect(
          vault(),
          { key: keys.owner, counter: keys.owner },
          { method: 'POST', path: '/tokens', raw },
          { status: isRight ? 201 : 400, stored: isRight ? 1 : 0, absent: ['Sensitive Value'] },
        )
        if (!isRight) assertPlace(reply.body.errors, field)
        const definition = await vault().send('POST', '/tokenize', { key: keys.owner, raw })
        assert.equal(definition.status, isRight ? 200 : 400, value)
      }
    })

  for (const { name, field, update: right } of fields)
    test(`${name}: an update accepts ${told(right)}`, async () => {
      const { keys } = await vault().tenant({ owner })
      for (const [at, value] of values.entries()) {
        const { id } = await vault().create(keys.owner, {
          type: 'token',
          data: `Sensitive Value ${at}`,
          metadata: { k: 'v' },
        })
        const before = (await vault().get(`/tokens/${id}`, keys.owner)).text
        const isRight = right.includes(value)
        const reply = await sendAndExpect(
          vault(),
          { key: keys.owner, counter: keys.owner },
          { method: 'PATCH', path: `/tokens/${id}`, raw: `{"${field}":${value}}` },
          { status: isRight ? 200 : 400 },
        )
        const after = (await vault().get(`/tokens/${id}`, keys.owner)).text
        assert.equal(after === before, !isRight)
        if (!isRight) assertPlace(reply.body.errors, field)
      }
    })
})
