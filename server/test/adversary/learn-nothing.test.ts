import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import { engines } from '../rig/engines.ts'
import type { TestApplication } from '../rig/test-vault.ts'
import { type Attack, type AttackRequest, Twins } from './twins.ts'
import {
  arbitrarySecrets,
  oneSecret,
  otherSecret,
  places,
  type VictimId,
  victimIds,
  victims,
} from './victims.ts'

/** Who attacks. Each holds one key. */
const attackers = {
  'token:update alone': { permissions: ['token:update'] },
  'token:update and token:create': { permissions: ['token:update', 'token:create'] },
  'token:update and token:read under mask': { permissions: ['token:update', 'token:read', 'token:create'] },
  'token:update and token:read under redact': {
    rules: [
      {
        priority: 1,
        container: '/mine/',
        transform: 'mask',
        permissions: ['token:create', 'token:read', 'token:update'],
      },
      { priority: 2, container: '/', transform: 'redact', permissions: ['token:read', 'token:update'] },
      { priority: 3, container: '/', transform: 'mask', permissions: ['token:create'] },
    ],
  },
  'token:update everywhere and token:read under reveal in a corner': {
    rules: [
      { priority: 1, container: '/', transform: 'reveal', permissions: ['token:update', 'token:create'] },
      { priority: 2, container: '/mine/', transform: 'reveal', permissions: ['token:read'] },
    ],
  },
  'token:create alone': { permissions: ['token:create'] },
  'a public application': { type: 'public', permissions: ['token:create', 'token:update'] },
} as const satisfies Record<string, TestApplication>

type Strategy = (attack: Attack<'eve'>) => Promise<void>
const token = (id: string) => `/tokens/${id}`

/** Looks at a token in each way there is; an answer that differs ends the attack. */
const look = async (attack: Attack<'eve'>, id: VictimId): Promise<void> => {
  await attack.patch('eve', token(id), {})
  await attack.get('eve', token(id))
}

const strategies: Record<string, Strategy> = {
  'C13.1 C13.2 masks that slice out one digit': async attack => {
    for (const id of victimIds)
      for (const at of [0, 4, 9, 10]) {
        const digit = `{{ ${places[id].path} | slice: ${at}, 1 }}`
        await attack.patch('eve', token(id), { mask: digit })
        await attack.patch('eve', token(id), { mask: { number: digit, ssn: digit, name: null } })
        await look(attack, id)
      }
  },

  'C13.1 C13.2 masks that fail or not, depending on a digit': async attack => {
    for (const id of victimIds) {
      const { path } = places[id]
      for (const chain of [
        'slice: 3, 1 | to_number | to_boolean',
        'slice: 4, 1 | minus: 4 | to_boolean',
        "slice: 4, 2 | prepend: '%' | url_decode",
        "slice: 4, 4 | append: '-01-01' | date: '%Y'",
        "slice: 7, 2 | prepend: '2026-' | append: '-01' | date: '%m'",
        'slice: 0, 5 | to_number | times: 1e304',
        "remove: '4' | slice: 0, 3 | default: 'none'",
        "split: '5' | size",
        "replace: '1', '11111111' | replace: '1', '11111111' | replace: '1', '11111111' | replace: '1', '11111111' | replace: '1', '11111111'",
      ]) {
        await attack.patch('eve', token(id), { mask: `{{ ${path} | ${chain} }}` })
        await look(attack, id)
      }
    }
  },

  'C13.6 C13.1 masks that would show the middle of some card numbers only': async attack => {
    for (const id of ['victim-card', 'victim-pan'] as const)
      for (const at of [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]) {
        const { path } = places[id]
        await attack.patch('eve', token(id), { mask: `{{ ${path} | remove: '${at}' | slice: 8, 2 }}` })
        await attack.patch('eve', token(id), { mask: `{{ ${path} | replace_first: '${at}${at}', '' }}` })
        await look(attack, id)
      }
  },

  'C13.1 C13.2 fingerprints of one digit, held against those of known digits': async attack => {
    for (const id of victimIds) {
      const { path, type, own } = places[id]
      const expression = `{{ ${path} | slice: 5, 1 }}`
      for (const digit of [0, 1, 5, 9])
        await attack.post('eve', '/tokens', {
          type,
          data: own(digit),
          fingerprint_expression: expression,
          containers: ['/mine/'],
        })
      await attack.patch('eve', token(id), { fingerprint_expression: expression })
      await look(attack, id)
      await attack.patch('eve', token(id), { fingerprint_expression: null })
      await look(attack, id)
    }
  },

  'C13.3 C15.3 deduplication of expressions that keep one digit': async attack => {
    for (const id of victimIds) {
      const { path, type, own } = places[id]
      const fingerprint_expression = `{{ ${path} | slice: 5, 1 }}`
      await attack.patch('eve', token(id), { fingerprint_expression, deduplicate_token: true })
      for (const digit of [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
        await attack.post('eve', '/tokens', {
          type,
          data: own(digit),
          fingerprint_expression,
          deduplicate_token: true,
        })
      await attack.patch('eve', token(id), { deduplicate_token: true })
      await attack.patch('eve', token(id), { deduplicate_token: null })
      await look(attack, id)
    }
  },

  'C13.3 C15.8 own tokens patched until they would equal the victim': async attack => {
    for (const id of victimIds) {
      const { path, type, own } = places[id]
      const fingerprint_expression = `{{ ${path} | slice: 5, 1 }}`
      await attack.post('eve', '/tokens', { id: `own-${id}`, type, data: own(0), deduplicate_token: true })
      await attack.patch('eve', token(id), { fingerprint_expression, mask: null })
      await attack.patch('eve', token(id), { mask: null, deduplicate_token: true })
      for (const digit of [1, 4, 5, 9])
        await attack.patch('eve', token(`own-${id}`), { data: own(digit), fingerprint_expression })
      await look(attack, id)
    }
  },

  'C13.4 C13.5 moving the token to where the attacker sees more': async attack => {
    for (const id of victimIds)
      for (const containers of [['/mine/'], ['/mine/', '/general/high/'], ['/mine/deeper/'], null]) {
        await attack.patch('eve', token(id), { containers })
        await attack.patch('eve', token(id), {
          containers,
          mask: '{{ data }}',
          fingerprint_expression: '{{ data }}',
        })
        await look(attack, id)
        await attack.get('eve', '/tokens?container=/mine/')
      }
  },

  'C13.4 C24.6 index expressions and every filter of a list': async attack => {
    for (const id of victimIds) {
      const { path, type, own } = places[id]
      await attack.patch('eve', token(id), {
        search_indexes: [`{{ ${path} | slice: 5, 1 }}`, `{{ ${path} | card_bin }}`],
      })
      await look(attack, id)
      await attack.patch('eve', token(id), { metadata: { digit: '4' }, search_indexes: null })
      const made = await attack.post('eve', '/tokens', { type, data: own(7), containers: ['/mine/'] })
      for (const filter of [
        'metadata.digit=4',
        `type=${type}&metadata.customer=C-1`,
        `id=${id}`,
        `id=${id}&fingerprint=${made.body.fingerprint ?? 'none'}`,
        `fingerprint=${made.body.fingerprint ?? 'none'}`,
        'container=/pci/&size=1&page=2',
      ])
        await attack.get('eve', `/tokens?${filter}`)
    }
  },

  'C13.1 C13.2 C20.2 metadata in the fingerprint': async attack => {
    for (const id of victimIds) {
      const { path } = places[id]
      for (const fingerprint_expression of [
        '{{ metadata.guess }}',
        `{{ ${path} | remove: metadata.guess | size }}`,
        `{{ metadata.guess | default: ${path} | slice: 0, 1 }}`,
      ])
        for (const guess of ['4', '12', null]) {
          await attack.patch('eve', token(id), { fingerprint_expression, metadata: { guess } })
          await look(attack, id)
        }
    }
  },

  'C13 C18.4 data patched around the secret': async attack => {
    for (const data of [
      { name: '' },
      { name: null, extra: { ssn: '4' } },
      { name: ['4'], account: { number: '1' } },
      { account: null },
      { ssn: { number: '1' } },
      { ssn: null },
      'all of it',
      {},
    ]) {
      await attack.patch('eve', token('victim-person'), { data })
      await look(attack, 'victim-person')
    }
    for (const data of [
      { expiration_month: 1 },
      { expiration_month: null },
      { expiration_year: null, cvc: '000' },
      { cvc: null },
      { number: null },
      { number: '4' },
      { number: '4242424242424241' },
      { secret: '1' },
      '4242424242424242',
    ]) {
      await attack.patch('eve', token('victim-card'), { data })
      await look(attack, 'victim-card')
    }
    for (const data of [{ routing_number: '011401533' }, { routing_number: '1' }, { account_number: null }]) {
      await attack.patch('eve', token('victim-bank'), { data })
      await look(attack, 'victim-bank')
    }
    for (const id of ['victim-ssn', 'victim-text', 'victim-pan'] as const)
      for (const data of [{}, { a: null }, [], 12, null]) {
        await attack.patch('eve', token(id), { data })
        await look(attack, id)
      }
  },

  'C18.1 C18.2 C13.1 clearing everything that can be cleared, one by one': async attack => {
    for (const id of victimIds) {
      for (const name of [
        'mask',
        'metadata',
        'search_indexes',
        'expires_at',
        'containers',
        'fingerprint_expression',
        'deduplicate_token',
        'data',
      ]) {
        await attack.patch('eve', token(id), { [name]: null })
        await look(attack, id)
      }
      await attack.patch('eve', token(id), { mask: {} })
      await attack.patch('eve', token(id), { mask: { number: null, ssn: '{{ data.ssn }}' } })
      await attack.patch('eve', token(id), { mask: {}, deduplicate_token: true })
      await look(attack, id)
    }
  },

  'C16.2 C16.7 ids made of data': async attack => {
    for (const id of victimIds) {
      const { path, type, own } = places[id]
      await attack.patch('eve', token(id), { id: `x-{{ ${path} | slice: 0, 4 }}` })
      await attack.post('eve', '/tokens', { id, type, data: own(3) })
      await attack.post('eve', '/tokens', { id: `{{ ${path} | slice: 0, 6 }}`, type, data: own(3) })
      await attack.post('eve', '/tokens', { id: `{{ ${path} | slice: 0, 6 }}`, type, data: own(3) })
      await attack.post('eve', '/tokenize', [{ id, type, data: own(3), deduplicate_token: true }])
    }
  },

  'C17.3 C15.3 expiry of the victim, and what takes its place': async attack => {
    for (const id of victimIds) {
      const { path, type, own } = places[id]
      const fingerprint_expression = `{{ ${path} | slice: 0, 1 }}`
      await attack.patch('eve', token(id), { expires_at: '2026-03-01T11:00:00Z' })
      await attack.patch('eve', token(id), { expires_at: '2100-01-01', fingerprint_expression })
      await look(attack, id)
      for (const digit of [1, 4, 9])
        await attack.post('eve', '/tokens', {
          type,
          data: own(digit),
          fingerprint_expression,
          deduplicate_token: true,
        })
    }
    attack.wait(100 * 365 * 86_400_000)
    for (const id of victimIds) {
      const { type, own } = places[id]
      await look(attack, id)
      await attack.post('eve', '/tokens', { id, type, data: own(2), deduplicate_token: true })
    }
  },
}

/** One request that an attacker might send, from pieces that all have something to do with the victims. */
const arbitraryRequest = (): fc.Arbitrary<AttackRequest<'eve'>> => {
  const victim = fc.constantFrom(...victimIds)
  const path = fc.constantFrom('data', 'data.number', 'data.account_number', 'data.ssn', 'data.name')
  const digit = fc.integer({ min: 0, max: 9 })
  const filter = fc.oneof(
    fc
      .tuple(fc.integer({ min: -4, max: 15 }), fc.integer({ min: 1, max: 4 }))
      .map(([at, n]) => `slice: ${at}, ${n}`),
    digit.map(value => `remove: '${value}'`),
    digit.map(value => `replace: '${value}', 'yes'`),
    digit.map(value => `split: '${value}'`),
    digit.map(value => `minus: ${value}`),
    digit.map(value => `modulo: ${value}`),
    fc.constantFrom(
      'size',
      'first',
      'last',
      'reverse',
      'to_number',
      'to_boolean',
      'stringify',
      'card_bin',
      'last4',
      'reveal_last: 4',
      'reveal: 6, 4',
      'card_mask: true, true',
      "default: 'none'",
      "date: '%Y'",
      "prepend: '%'",
      'url_decode',
      'at_most: 1',
      'truncate: 3',
      'sort',
      'uniq',
      "join: ''",
      'remove: data.name',
      'remove: metadata.guess',
      'default: data.ssn',
      'append: data.name',
    ),
  )
  const expression = fc
    .tuple(path, fc.array(filter, { maxLength: 3 }))
    .map(([source, filters]) => `{{ ${[source, ...filters].join(' | ')} }}`)
  const containers = fc.constantFrom(['/mine/'], ['/general/high/'], ['/pci/high/'], ['/mine/', '/pci/high/'])
  const mask = fc.oneof(
    expression,
    fc.record({ number: expression, ssn: fc.option(expression) }, { requiredKeys: [] }),
  )
  const data = fc.constantFrom<unknown>(
    { name: '' },
    { name: '4' },
    { name: null },
    { expiration_month: 4 },
    { cvc: '111' },
    { routing_number: '011401533' },
    {},
    'x',
  )
  const patch = fc.record(
    {
      mask: fc.option(mask),
      fingerprint_expression: fc.option(expression),
      search_indexes: fc.option(fc.array(expression, { maxLength: 2 })),
      containers: fc.option(containers),
      metadata: fc.option(fc.record({ guess: fc.option(digit.map(String)), customer: fc.constant('c-2') })),
      deduplicate_token: fc.option(fc.boolean()),
      expires_at: fc.option(fc.constantFrom('2099-01-01', '2000-01-01')),
      data,
    },
    { requiredKeys: [] },
  )
  // Most patches carry one or two fields: a 403 of one hides what the others would have done.
  const fewFields = patch.chain(whole =>
    fc
      .subarray(Object.keys(whole), { maxLength: 2 })
      .map(names => Object.fromEntries(Object.entries(whole).filter(([name]) => names.includes(name)))),
  )
  const own = fc
    .tuple(
      victim,
      digit,
      fc.record(
        {
          fingerprint_expression: expression,
          deduplicate_token: fc.boolean(),
          containers,
          mask: expression,
          id: fc.constantFrom('own-1', 'own-2', 'victim-card'),
        },
        { requiredKeys: [] },
      ),
    )
    .map(([id, value, more]) => ({ type: places[id].type, data: places[id].own(value), ...more }))
  const filters = fc.constantFrom(
    '',
    '?size=100',
    '?fingerprint=<fingerprint 3>',
    '?fingerprint=<fingerprint 4>',
    '?metadata.guess=4',
    '?container=/mine/',
    '?type=card&type=token',
  )
  const target = fc.oneof(
    { weight: 4, arbitrary: victim },
    { weight: 1, arbitrary: fc.constantFrom('own-1', 'own-2') },
  )
  return fc.oneof(
    {
      weight: 6,
      arbitrary: fc
        .tuple(target, fewFields)
        .map(([id, body]): AttackRequest<'eve'> => ({ as: 'eve', method: 'PATCH', path: token(id), body })),
    },
    {
      weight: 3,
      arbitrary: own.map(
        (body): AttackRequest<'eve'> => ({ as: 'eve', method: 'POST', path: '/tokens', body }),
      ),
    },
    {
      weight: 1,
      arbitrary: own.map(
        (body): AttackRequest<'eve'> => ({ as: 'eve', method: 'POST', path: '/tokenize', body: [body] }),
      ),
    },
    {
      weight: 2,
      arbitrary: target.map((id): AttackRequest<'eve'> => ({ as: 'eve', method: 'GET', path: token(id) })),
    },
    {
      weight: 2,
      arbitrary: filters.map(
        (query): AttackRequest<'eve'> => ({ as: 'eve', method: 'GET', path: `/tokens${query}` }),
      ),
    },
  )
}

for (const engine of engines)
  describe(`attackers learn nothing (${engine.name})`, () => {
    let twins: Twins
    before(async () => {
      twins = await Twins.start(engine)
    })
    after(() => twins.stop())

    test('C12.1 control: one who may read sees the two vaults differ', async () => {
      const attack = await twins.attack(
        {
          reader: {
            rules: [
              {
                priority: 1,
                container: '/',
                transform: 'reveal',
                permissions: ['token:read', 'token:update'],
              },
            ],
          },
        },
        [victims(oneSecret), victims(otherSecret)],
      )
      for (const id of victimIds)
        await assert.rejects(attack.get('reader', token(id)), /tells the secrets apart/)
      await assert.rejects(
        attack.patch('reader', token('victim-text'), { mask: '{{ data | slice: 0, 1 }}' }),
        /tells the secrets apart/,
      )
    })

    for (const [name, application] of Object.entries(attackers))
      describe(name, () => {
        let requests = 0
        for (const [strategy, run] of Object.entries(strategies))
          test(`${strategy}`, async () => {
            const attack = await twins.attack({ eve: application }, [
              victims(oneSecret),
              victims(otherSecret),
            ])
            await run(attack)
            requests += attack.sent
          })

        test('C13 any sequence of requests', async () => {
          await fc.assert(
            fc.asyncProperty(
              arbitrarySecrets,
              arbitrarySecrets,
              fc.array(arbitraryRequest(), { minLength: 5, maxLength: 25 }),
              async (one, other, sequence) => {
                const attack = await twins.attack({ eve: application }, [victims(one), victims(other)])
                for (const request of sequence) await attack.send(request)
                for (const id of victimIds) await look(attack, id)
                requests += attack.sent
              },
            ),
            { numRuns: 20 },
          )
        })

        after(() => assert.ok(requests >= 500, `only ${requests} requests were sent`))
      })
  })
