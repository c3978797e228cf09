import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VaultError } from '../../src/domain/errors.ts'
import { filters } from '../../src/domain/expressions/filters/registry.ts'
import { detokenize } from '../../src/operations/use/detokenize.ts'
import { callerOf } from '../rig/caller-of.ts'
import { onEveryEngine } from '../rig/every-engine.ts'
import { recordsOfTenant } from '../rig/log-records.ts'
import { isLong, tries } from '../rig/long-run.ts'
import { fc } from '../rig/properties.ts'
import { owner, type TestVault } from '../rig/test-vault.ts'
import { assertAbsent } from '../rig/traces.ts'

const number = '4242424242424242'
const card = { type: 'card', data: { number, expiration_month: 7, expiration_year: 2031, cvc: '123' } }
const reading = ['token:read'] as const
const callers = {
  owner,
  masked: { permissions: [...reading, 'token:create'] },
  redacted: { rules: [{ priority: 1, container: '/', transform: 'redact', permissions: reading }] },
  elsewhere: { rules: [{ priority: 1, container: '/general/', transform: 'reveal', permissions: reading }] },
  writer: { permissions: ['token:create'] },
} as const

type Keys = Record<keyof typeof callers, string>

const newWorld = async (vault: TestVault) => {
  const { tenantId, keys } = await vault.tenant<keyof typeof callers>(callers)
  const make = (id: string, token: object) => vault.create(keys.owner, { id, ...token })
  await make('card', card)
  await make('pan', { type: 'card_number', data: number })
  await make('name', { type: 'token', data: 'Ada', mask: '{{ data | reveal_last: 1 }}' })
  await make('text', { type: 'token', data: '{{ name }} "quoted" \n {{ name | upcase }}' })
  await make('object', { type: 'token', data: { a: [1, { b: null }], c: '' } })
  await make("'quoted", { type: 'token', data: 'of a quoted id' })
  await make('token: odd', { type: 'token', data: 'of an odd id' })
  await vault.send('POST', '/tokens', {
    key: keys.owner,
    raw: '{"id":"exact","type":"token","data":[12345678901234567890,1e400,true]}',
  })
  return { tenantId, keys }
}

/** What comes back for what is sent, to a caller who may see everything unless the row names another. */
const values: readonly { name: string; send: unknown; get: unknown; as?: keyof Keys }[] = [
  {
    name: 'a payload without expressions',
    send: { a: [1, null, { b: 'x' }] },
    get: { a: [1, null, { b: 'x' }] },
  },
  { name: 'a bare string (U3)', send: '{{ name }}', get: 'Ada' },
  { name: 'braces without blanks', send: '{{name}}', get: 'Ada' },
  { name: 'the whole of an object, with the live cvc (U3)', send: ['{{ card }}'], get: [card.data] },
  { name: 'a part of it', send: { n: "{{ card | json: '$.number' }}" }, get: { n: number } },
  { name: 'a number keeps its type', send: ["{{ card | json: '$.expiration_month' }}"], get: [7] },
  { name: 'mixed text', send: 'Dear {{ name }}, {{ name | upcase }}!', get: 'Dear Ada, ADA!' },
  {
    name: 'other values in mixed text are compact JSON',
    send: "{{ object }}: {{ object | json: '$.a' }}",
    get: '{"a":[1,{"b":null}],"c":""}: [1,{"b":null}]',
  },
  { name: 'null in mixed text', send: "[{{ object | json: '$.a[1].b' }}]", get: '[null]' },
  { name: 'a null that is there is a value (U4)', send: ["{{ object | json: '$.a[1].b' }}"], get: [null] },
  {
    name: 'a path that leads nowhere with a default (U4)',
    send: "{{ card | json: '$.none' | upcase | default: 'x' }}",
    get: 'x',
  },
  {
    name: 'a value that is no expression is never parsed again (U3)',
    send: ['{{ text }}', 'a {{ text }}'],
    get: ['{{ name }} "quoted" \n {{ name | upcase }}', 'a {{ name }} "quoted" \n {{ name | upcase }}'],
  },
  { name: 'the escape (U2)', send: "{{ '{{' }} name }}", get: '{{ name }}' },
  { name: 'quoted text with filters (U2)', send: "{{ 'a}}b' | upcase }}", get: 'A}}B' },
  {
    name: 'braces within an argument (U2)',
    send: "{{ name | append: '}}' | append: \"'\" }}",
    get: "Ada}}'",
  },
  {
    name: 'an id that begins with a quote needs token: (U2)',
    send: "{{ token: 'quoted | json: '$.data' }}",
    get: 'of a quoted id',
  },
  { name: 'keys are left alone (U2)', send: { '{{ name }}': '{{ name }}' }, get: { '{{ name }}': 'Ada' } },
  {
    name: 'hmac (U2)',
    send: `{{ pan | hmac: 'sha-256','secretKeyValue' | to_base16 }}`,
    get: '90A0050E90515101DCAD0F68955370CCA81F6DCB9D299E7E0585CC9746716D9B',
  },
  { name: 'base64 (U2)', send: '{{ name | to_base64 }}', get: 'QWRh' },
  { name: 'card_exp', send: "{{ card | card_exp: 'MM/YY' }}", get: '07/31' },
  {
    name: 'the mask, for a masked caller (U3)',
    send: ['{{ name }}', "{{ card | json: '$.number' }}"],
    get: ['XXa', 'XXXXXXXXXXXX4242'],
    as: 'masked',
  },
  {
    name: 'filters of a masked caller see the mask (U3)',
    send: ['{{ name | size }}', '{{ pan | slice: 0, 6 }}', '{{ pan | to_base64 }}'],
    get: [3, 'XXXXXX', btoa('XXXXXXXXXXXX4242')],
    as: 'masked',
  },
]

const tokenObjects: readonly { name: string; as: keyof Keys; expression: string; get: unknown }[] = [
  {
    name: 'enrichments under reveal (U6)',
    as: 'owner',
    expression: "{{ token: card | json: '$.enrichments' }}",
    get: { card_details: { bin: '42424242', last4: '4242', brand: 'visa' } },
  },
  {
    name: 'enrichments of a number (U6)',
    as: 'owner',
    expression: "{{ token: pan | json: '$.enrichments.card_details.brand' }}",
    get: 'visa',
  },
  {
    name: 'the type of a redacted token',
    as: 'redacted',
    expression: "{{ token: card | json: '$.type' }}",
    get: 'card',
  },
  {
    name: 'no enrichments under mask (U6)',
    as: 'masked',
    expression: "{{ token: pan | json: '$.enrichments' | default: 'none' }}",
    get: 'none',
  },
  {
    name: 'no enrichments of a text (U6)',
    as: 'owner',
    expression: "{{ token: name | json: '$.enrichments' | default: 'none' }}",
    get: 'none',
  },
]

const absent = 'There is no such token.'
const hidden = 'Your rule shows no data of this token.'

const refusals: readonly {
  name: string
  send: unknown
  errors: Record<string, string | RegExp>
  as?: keyof Keys
}[] = [
  {
    name: 'an unknown id (U4)',
    send: { cards: [1, 2, 3, { number: '{{ 4111111111111111 }}' }] },
    errors: { 'cards[3].number': absent },
  },
  { name: 'an id that no token can have (U4)', send: ['{{ \u0000\ud800 }}'], errors: { '[0]': absent } },
  { name: 'a token that no rule covers (U4)', send: '{{ card }}', as: 'elsewhere', errors: { $: absent } },
  {
    name: 'a token without a mask (U4)',
    send: ['{{ text }}', '{{ token: text }}'],
    as: 'masked',
    errors: { '[0]': hidden },
  },
  { name: 'a redacted token (U4)', send: { a: 'x{{ card }}' }, as: 'redacted', errors: { a: hidden } },
  {
    name: 'a path that leads nowhere (U4)',
    send: [["{{ card | json: '$.cvv' }}"]],
    errors: { '[0][0]': /json: leads nowhere, at character 11/ },
  },
  { name: 'no closing braces (U2)', send: { a: 'b {{ card' }, errors: { a: /no closing/ } },
  {
    name: 'nothing between the braces',
    send: ['{{ }}', '{{ token: }}'],
    errors: { '[0]': /nothing between/, '[1]': /nothing between/ },
  },
  {
    name: 'a filter that is none',
    send: ['{{ name | last5 }}'],
    errors: { '[0]': /unknown filter "last5"/ },
  },
  { name: 'a filter for ids (U2)', send: ['{{ name | alias_card }}'], errors: { '[0]': /only for ids/ } },
  { name: 'trim marks (U2)', send: ['{{- name }}', '{{ name | upcase -}}'], errors: { '[1]': /unexpected/ } },
  {
    name: 'hmac without an encoding',
    send: ["{{ name | hmac: 'sha-256', 'k' }}", "{{ name | hmac: 'sha-256', 'k' | upcase }}"],
    errors: { '[0]': /must be followed/, '[1]': /must be followed/ },
  },
  {
    name: 'an algorithm that is none',
    send: ["{{ name | hmac: 'md5', 'k' | to_base16 }}"],
    errors: { '[0]': /sha-256, sha-384, sha-512/ },
  },
  {
    name: 'filters that are too long (U2)',
    send: [`{{ name ${'| upcase'.repeat(51)} }}`],
    errors: { '[0]': /at most 400 characters/ },
  },
  { name: 'a variable', send: ['{{ name | append: data.number }}'], errors: { '[0]': /unknown variable/ } },
  {
    name: 'configuration',
    send: ['{{ name | append: config: key }}'],
    errors: { '[0]': /only for a proxy/ },
  },
  {
    name: 'text that is not closed',
    send: ["{{ 'a }}", "{{ name | append: 'a }}"],
    errors: { '[0]': /not closed/, '[1]': /not closed/ },
  },
  {
    name: 'a key with many digits',
    send: { 4111111111111111: { a: '{{ none }}' } },
    errors: { '[key 1].a': absent },
  },
  {
    name: 'too much work',
    send: [`{{ name ${"| replace: '', 'aaaaaaaaaaaaaaaa'".repeat(8)} }}`],
    errors: { '[0]': /too much work/ },
  },
]

const each = (count: number, text: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => text(index))

onEveryEngine('detokenize', (vault, aboveStorage) => {
  const inWorld = (run: (world: Awaited<ReturnType<typeof newWorld>>) => Promise<void>) => async () =>
    run(await newWorld(vault()))

  test(
    'each expression becomes its value (U1.1, U2.1, U2.2, U2.3, U2.4, U2.5, U2.6, U2.7, U3.1, U3.2, U3.3, U3.4, U3.5, U6.1)',
    inWorld(async ({ keys }) => {
      for (const { name, send, get, as = 'owner' } of values) {
        const { status, body, text } = await vault().post('/detokenize', keys[as], send)
        assert.deepEqual([status, body], [200, get], `${name}: ${text.slice(0, 300)}`)
      }
      for (const { name, as, expression, get } of tokenObjects) {
        const { body } = await vault().post('/detokenize', keys[as], [expression])
        assert.deepEqual(body, [get], name)
      }
    }),
  )

  test(
    'a token as an object is what GET shows (U3.1, U6.1, U6.2)',
    inWorld(async ({ keys }) => {
      for (const as of ['owner', 'masked', 'redacted'] as const)
        for (const id of ['card', 'name', 'object']) {
          const { body } = await vault().post('/detokenize', keys[as], { it: `{{ token: ${id} }}` })
          const { enrichments, ...shown } = body.it
          assert.equal(enrichments !== undefined, as === 'owner' && id === 'card')
          assert.deepEqual(shown, (await vault().get(`/tokens/${id}`, keys[as])).body)
        }
    }),
  )

  test(
    'refusals name the place and nothing that was sent (U2.5, U4.1, U4.3, C2.5)',
    inWorld(async ({ keys }) => {
      for (const { name, send, errors, as = 'owner' } of refusals) {
        const logged = vault().log.length
        const { status, body, text } = await vault().post('/detokenize', keys[as], send)
        if (status !== 400) assert.fail(`${name}: ${status} ${text}`)
        for (const [place, message] of Object.entries(errors)) {
          const [told] = body.errors[place] ?? ['']
          if (message instanceof RegExp) assert.match(told, message, name)
          else assert.equal(told, message, `${name}: ${text}`)
        }
        const log = vault().log.slice(logged).join('\n')
        assertAbsent({ text, log }, ['4111111111111111', number])
      }
    }),
  )

  const refusalTo =
    (key: string) =>
    async (body: unknown): Promise<unknown> => {
      const reply = await vault().post('/detokenize', key, body)
      return reply.status === 400 ? reply.body.errors.$?.[0] : reply.status
    }

  aboveStorage(() => {
    test(
      'all kinds of absent ids get one and the same answer (U4.2)',
      inWorld(async ({ keys }) => {
        const other = await vault().tenant({ owner })
        await vault().create(other.keys.owner, { id: 'foreign', type: 'token', data: 'x' })
        await vault().create(keys.owner, { id: 'dead', type: 'token', data: 'x', expires_at: '2026-03-02' })
        await vault().create(keys.owner, { id: 'gone', type: 'token', data: 'x' })
        await vault().send('DELETE', '/tokens/gone', { key: keys.owner })
        vault().now += 2 * 86_400_000
        const answers = new Set<string>()
        for (const id of ['unknown', 'dead', 'gone', 'foreign', 'card', '4111111111111111']) {
          const { status, body } = await vault().post('/detokenize', keys.elsewhere, { a: `{{ ${id} }}` })
          const { trace_id, ...rest } = body
          answers.add(JSON.stringify([status, rest]))
        }
        assert.equal(answers.size, 1, [...answers].join('\n'))
      }),
    )

    test(
      'absent ids become null where that was asked for, and are counted (U4.4)',
      inWorld(async ({ keys }) => {
        const send = (key: string, body: unknown) =>
          vault().send('POST', '/detokenize?missing=null', { key, body })
        const reply = await send(keys.elsewhere, {
          a: '{{ card }}',
          b: ['x {{ none }} {{ name }}', '{{ name }}'],
        })
        assert.deepEqual(reply.body, { a: null, b: [null, 'Ada'] })
        assert.equal(reply.headers.get('svc-missing'), '2')
        assert.equal((await send(keys.owner, ['{{ name }}'])).headers.get('svc-missing'), '0')
        assert.equal((await send(keys.owner, ["{{ none }} {{ card | json: '$.x' }}"])).body[0], null)
        assert.equal((await send(keys.masked, ['{{ text }}'])).status, 400)
        for (const query of ['missing=', 'missing=0', 'missing=null&missing=null', 'mising=null'])
          assert.equal(
            (await vault().send('POST', `/detokenize?${query}`, { key: keys.owner, body: 1 })).status,
            400,
          )
        assert.equal((await vault().post('/detokenize', keys.owner, 1)).headers.get('svc-missing'), null)
      }),
    )

    test(
      'everything that is no expression comes back as it was sent, numbers to the digit (U2.1, C7.1)',
      inWorld(async ({ keys }) => {
        const raw =
          ' {"a" :1.0, "b":[ 1e400,12345678901234567890 , "\\u007b\\u007b name }}"],"b":"\\u00e9","__proto__":{"x":"{{ exact }}"},"{{":""}\n'
        const { text } = await vault().send('POST', '/detokenize', { key: keys.owner, raw })
        assert.equal(
          text.trimEnd(),
          raw
            .replace('"\\u007b\\u007b name }}"', '"Ada"')
            .replace('"{{ exact }}"', '[12345678901234567890,1e400,true]')
            .trimEnd(),
        )
      }),
    )

    test(
      'who may not read at all is refused, and an idempotency key is ignored (U1.1, U1.2)',
      inWorld(async ({ keys }) => {
        assert.equal((await vault().post('/detokenize', keys.writer, '{{ card }}')).status, 403)
        const once = () =>
          vault().send('POST', '/detokenize', {
            key: keys.owner,
            body: '{{ name }}',
            headers: { 'svc-idempotency-key': 'once' },
          })
        assert.equal((await once()).body, 'Ada')
        await vault().patch('/tokens/name', keys.owner, { data: 'Grace' })
        assert.equal((await once()).body, 'Grace')
      }),
    )

    test(
      'each token is recorded once, with the rule that showed it, before the answer leaves (L1.7, U5.2)',
      inWorld(async ({ tenantId, keys }) => {
        const before = await recordsOfTenant(vault().service.vault, tenantId)
        const { headers } = await vault().post('/detokenize', keys.owner, [
          '{{ name }}{{ name | upcase }}',
          "{{ card | json: '$.number' }}",
          '{{ token: name }}',
        ])
        await vault().post('/detokenize', keys.elsewhere, ['{{ card }}', '{{ name }}'])
        await vault().send('POST', '/detokenize?missing=null', { key: keys.elsewhere, body: ['{{ card }}'] })
        const [shown, refused, nulled] = (await recordsOfTenant(vault().service.vault, tenantId)).filter(
          ({ id }) => !before.some(known => known.id === id),
        )
        assert.equal(headers.get('svc-audit'), shown?.id)
        assert.deepEqual(
          ((shown?.tokens ?? []) as Record<string, unknown>[]).map(({ id, permission, transform }) => [
            id,
            permission,
            transform,
          ]),
          [
            ['name', 'token:read', 'reveal'],
            ['card', 'token:read', 'reveal'],
          ],
        )
        assert.deepEqual(
          [refused?.result, refused?.entity_id, refused?.tokens],
          ['failed', 'card', undefined],
        )
        assert.deepEqual(
          [nulled?.result, nulled?.entity_id, nulled?.tokens],
          ['allowed', undefined, undefined],
        )
      }),
    )

    test(
      'limits of expressions and tokens (U5.1)',
      inWorld(async ({ keys }) => {
        const refusal = refusalTo(keys.owner)
        assert.equal(await refusal(each(2_000, () => '{{ name }}')), 200)
        assert.match(String(await refusal(each(2_001, () => '{{ name }}'))), /2000 expressions/)
        assert.match(String(await refusal('{{ name }}'.repeat(2_001))), /2000 expressions/)
        assert.match(String(await refusal(each(1_001, index => `{{ t${index} }}`))), /1000 tokens/)
      }),
    )

    test(
      'how many stored bytes may be read, and how long the answer may be (U5.1)',
      { skip: !isLong && 'storing 35 MB takes seconds' },
      inWorld(async ({ keys }) => {
        const refusal = refusalTo(keys.owner)
        const large = 'x'.repeat(1_000_000)
        for (const index of each(35, String).keys())
          await vault().create(keys.owner, { id: `large-${index}`, type: 'token', data: large })
        assert.match(
          String(await refusal(each(35, index => `{{ large-${index} | size }}`))),
          /33554432 bytes/,
        )
        assert.deepEqual(
          (
            await vault().post(
              '/detokenize',
              keys.owner,
              each(33, index => `{{ large-${index} | size }}`),
            )
          ).body,
          each(33, () => '').map(() => 1_000_000),
        )
        assert.match(String(await refusal(each(9, () => '{{ large-1 }}'))), /8388608 bytes/)
        assert.equal(await refusal(each(8, () => '{{ large-1 }}')), 200)
      }),
    )

    test('a masked caller sees the same of two numbers that differ only where the mask hides, whatever the filters (U3.2)', async () => {
      const { keys } = await vault().tenant<keyof typeof callers>(callers)
      const numbers = { one: '4242424242424242', two: '5105105105044242' }
      for (const [id, data] of Object.entries(numbers)) {
        await vault().create(keys.owner, { id, type: 'card_number', data })
        await vault().create(keys.owner, { ...card, id: `${id}-card`, data: { ...card.data, number: data } })
      }
      // Without HTTP, so that many chains can be tried.
      const caller = await callerOf(vault().service.vault, keys.masked)
      const seen = async (expression: string, id: string): Promise<string> => {
        const send = [
          expression.replace('ID', id),
          `and {{ token: ${id} | json: '$.data' ${expression.slice(expression.indexOf('|'))}`,
        ]
        const body = Buffer.from(JSON.stringify(send))
        try {
          return (await detokenize(vault().service.vault, caller, body, { absentIsNull: false })).text
        } catch (error) {
          assert.ok(error instanceof VaultError)
          return JSON.stringify(error.issues)
        }
      }
      const argument = fc.constantFrom(
        '0',
        '4',
        '-9',
        '16',
        'true',
        "''",
        "'X'",
        "'$.number'",
        "'$[0]'",
        "'4'",
        '2.5',
      )
      const call = fc
        .tuple(fc.constantFrom(...filters.keys()), fc.array(argument, { maxLength: 3 }))
        .map(([name, given]) => `| ${name}${given.length > 0 ? `: ${given.join(', ')}` : ''}`)
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom('', '-card'),
          fc.array(call, { minLength: 1, maxLength: 3 }),
          async (kind, calls) => {
            const expression = `{{ ID ${calls.join(' ')} }}`
            assert.equal(await seen(expression, `one${kind}`), await seen(expression, `two${kind}`))
          },
        ),
        { numRuns: tries(300) },
      )
      for (const name of filters.keys())
        for (const given of ['', ': 4', ": '4'", ': 0, 4', ': true, true', ": '$.number'"])
          for (const kind of ['', '-card'])
            assert.equal(
              await seen(`{{ ID | ${name}${given} }}`, `one${kind}`),
              await seen(`{{ ID | ${name}${given} }}`, `two${kind}`),
            )
    })

    test(
      'a long answer is made only if there is room for it in memory (C37.4)',
      inWorld(async ({ keys }) => {
        await vault().create(keys.owner, { id: 'long', type: 'token', data: 'x'.repeat(100_000) })
        const { vault: itself } = vault().service
        const asked = (times: number, room: number) => async () => {
          const memory = { held: 0, hold: (bytes: number) => bytes <= room }
          const caller = { ...(await callerOf(itself, keys.owner)), memory }
          const payload = Buffer.from(JSON.stringify(Array(times).fill('{{ long }}')))
          return detokenize(itself, caller, payload, { absentIsNull: false })
        }
        await asked(10, 3_000_000)()
        await assert.rejects(asked(10, 1_500_000), new VaultError('overloaded'))
        await asked(1, 200_000)()
      }),
    )

    test(
      'use counts as activity (U1.2)',
      inWorld(async ({ keys }) => {
        vault().now += 40 * 86_400_000
        await vault().post('/detokenize', keys.owner, ['{{ name }} {{ card }} {{ name }}'])
        assert.equal(await vault().service.vault.activity.flush(), 2)
      }),
    )
  })

  test(
    'the cvc is gone from the answer after its hour (C11.1, U3.3)',
    inWorld(async ({ keys }) => {
      vault().now += 3_600_000
      const { cvc: _, ...rest } = card.data
      assert.deepEqual((await vault().post('/detokenize', keys.owner, '{{ card }}')).body, rest)
      assert.equal((await vault().post('/detokenize', keys.owner, "{{ card | json: '$.cvc' }}")).status, 400)
    }),
  )
})
