import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { sqlite } from '../rig/engines.ts'
import { inShortRun, isLong, tries } from '../rig/long-run.ts'
import { fc } from '../rig/properties.ts'
import type { TestApplication } from '../rig/test-vault.ts'
import { arbitraryRequest } from './arbitrary-request.ts'
import { type Attack, TwoVaults } from './two-vaults.ts'
import {
  arbitrarySecrets,
  oneSecret,
  otherSecret,
  places,
  type VictimId,
  victimIds,
  victims,
} from './victims.ts'

type Attacker = TestApplication & { readonly deduplicates?: boolean }

/** The attackers. Each holds one key. */
const attackers = {
  'token:update alone': { permissions: ['token:update'] },
  'token:update, token:create and token:search': {
    permissions: ['token:update', 'token:create', 'token:search'],
  },
  'token:update and token:read under mask': {
    permissions: ['token:update', 'token:read', 'token:create', 'token:search'],
  },
  'token:update and token:read under redact': {
    rules: [
      {
        priority: 1,
        container: '/mine/',
        transform: 'mask',
        permissions: ['token:create', 'token:read', 'token:update', 'token:search'],
      },
      {
        priority: 2,
        container: '/',
        transform: 'redact',
        permissions: ['token:read', 'token:update', 'token:search'],
      },
      { priority: 3, container: '/', transform: 'mask', permissions: ['token:create'] },
    ],
  },
  'token:update everywhere and token:read under reveal in a corner': {
    rules: [
      { priority: 1, container: '/', transform: 'reveal', permissions: ['token:update', 'token:create'] },
      {
        priority: 2,
        container: '/mine/',
        transform: 'reveal',
        permissions: ['token:read', 'token:search'],
      },
    ],
  },
  'token:create alone': { permissions: ['token:create'] },
  'a public application of a tenant that deduplicates': {
    type: 'public',
    permissions: ['token:create', 'token:update'],
    deduplicates: true,
  },
} as const satisfies Record<string, Attacker>

/** Runs on the given victims, or on those that it names itself. */
type Strategy = (attack: Attack<'eve'>, ids: readonly VictimId[]) => Promise<void>
const token = (id: string) => `/tokens/${id}`

/** Looks at a token in every possible way; an answer that differs ends the attack. */
const look = async (attack: Attack<'eve'>, id: VictimId): Promise<void> => {
  await attack.patch('eve', token(id), {})
  await attack.get('eve', token(id))
}

const strategies: Record<string, Strategy> = {
  'masks that slice out one digit (C13.1, C13.2)': async (attack, ids) => {
    for (const id of ids)
      for (const at of [0, 9]) {
        const digit = `{{ ${places[id].path} | slice: ${at}, 1 }}`
        await attack.patch('eve', token(id), { mask: digit })
        await attack.patch('eve', token(id), { mask: { number: digit, ssn: digit, name: null } })
        await look(attack, id)
      }
  },

  'masks that fail depending on a digit (C13.1, C13.2)': async (attack, ids) => {
    for (const id of ids) {
      const { path } = places[id]
      for (const chain of [
        'slice: 3, 1 | to_number | to_boolean',
        'slice: 4, 1 | minus: 4 | to_boolean',
        "slice: 4, 2 | prepend: '%' | url_decode",
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

  'masks that would show the middle of only some card numbers (C13.6, C13.1)': async attack => {
    for (const id of ['victim-card', 'victim-pan'] as const)
      for (const at of [1, 2, 4, 5, 9]) {
        const { path } = places[id]
        await attack.patch('eve', token(id), { mask: `{{ ${path} | remove: '${at}' | slice: 8, 2 }}` })
        await attack.patch('eve', token(id), { mask: `{{ ${path} | replace_first: '${at}${at}', '' }}` })
        await look(attack, id)
      }
  },

  'fingerprints of one digit, compared with those of known digits (C13.1, C13.2)': async (attack, ids) => {
    for (const id of ids) {
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

  'deduplication of expressions that keep one digit (C13.3, C15.3)': async (attack, ids) => {
    for (const id of ids) {
      const { path, type, own } = places[id]
      const fingerprint_expression = `{{ ${path} | slice: 5, 1 }}`
      await attack.patch('eve', token(id), { fingerprint_expression, deduplicate_token: true })
      for (const digit of [0, 1, 4, 5, 9])
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

  'own tokens patched until they would equal the victim (C13.3, C15.8)': async (attack, ids) => {
    for (const id of ids) {
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

  'moving the token to where the attacker sees more (C13.4, C13.5)': async (attack, ids) => {
    for (const id of ids)
      for (const containers of [['/mine/'], ['/mine/deeper/', '/general/high/'], null]) {
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

  'index expressions and every filter of a list (C13.4, C24.6)': async (attack, ids) => {
    for (const id of ids) {
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
      await attack.get('eve', `/v2/tokens?size=2&fingerprint=${made.body.fingerprint ?? 'none'}`)
      const page = await attack.get('eve', '/v2/tokens?size=1')
      await attack.get('eve', `/v2/tokens?size=1&start=${page.body.pagination?.next ?? 'none'}`)
    }
  },

  'searches for pieces of the secret, and the plans of those searches (C26.6, C26.7, C13.4)': async (
    attack,
    ids,
  ) => {
    for (const id of ids) {
      const { path, type } = places[id]
      await attack.patch('eve', token(id), {
        search_indexes: [`{{ ${path} | slice: 5, 1 }}`, `{{ ${path} | slice: 0, 3 }}`],
      })
      for (const query of [
        'data:4',
        'data:123 OR data:987',
        `type:${type} NOT data:5`,
        `id:${id} data:1`,
        `type:${type} data:9 metadata.customer:c-1`,
        `(data:012 OR data:998) created_at:[* TO 2030-01-01]`,
      ])
        await attack.post('eve', '/tokens/search', { query, explain: true })
    }
  },

  'metadata in the fingerprint (C13.1, C13.2, C20.2)': async (attack, ids) => {
    for (const id of ids) {
      const { path } = places[id]
      for (const fingerprint_expression of [
        '{{ metadata.guess }}',
        `{{ ${path} | remove: metadata.guess | size }}`,
        `{{ metadata.guess | default: ${path} | slice: 0, 1 }}`,
      ])
        for (const guess of ['4', null]) {
          await attack.patch('eve', token(id), { fingerprint_expression, metadata: { guess } })
          await look(attack, id)
        }
    }
  },

  'data patched around the secret (C13.2, C18.4)': async attack => {
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

  'clearing everything that can be cleared, one by one (C18.1, C18.2, C13.1)': async (attack, ids) => {
    for (const id of ids) {
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

  'ids made of data (C16.2, C16.7)': async (attack, ids) => {
    for (const id of ids) {
      const { path, type, own } = places[id]
      await attack.patch('eve', token(id), { id: `x-{{ ${path} | slice: 0, 4 }}` })
      await attack.post('eve', '/tokens', { id, type, data: own(3) })
      await attack.post('eve', '/tokens', { id: `{{ ${path} | slice: 0, 6 }}`, type, data: own(3) })
      await attack.post('eve', '/tokens', { id: `{{ ${path} | slice: 0, 6 }}`, type, data: own(3) })
      await attack.post('eve', '/tokenize', [{ id, type, data: own(3), deduplicate_token: true }])
    }
  },

  'numbers guessed in metadata, alone and beside data (C16.10)': async (attack, ids) => {
    const { card, cardNumber, account, ssn } = otherSecret
    const guesses = { card, cardNumber, account, ssn: ssn.replaceAll('-', ''), all: `${card} ${account}` }
    for (const id of ids) {
      await attack.patch('eve', token(id), { metadata: guesses })
      await look(attack, id)
      for (const number of [card, cardNumber, account, ssn])
        for (const data of [number, { number }, { account_number: number }])
          await attack.patch('eve', token(id), { metadata: { guess: number }, data })
      await look(attack, id)
    }
  },

  'expiry of the victim, and what takes its place (C17.3, C15.3)': async (attack, ids) => {
    for (const id of ids) {
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
    for (const id of ids) {
      const { type, own } = places[id]
      await look(attack, id)
      await attack.post('eve', '/tokens', { id, type, data: own(2), deduplicate_token: true })
    }
  },
}

/** What an owner should not have written: each expression mixes the secret with something that may change. */
const carelessVictims = ({ ssn }: { ssn: string }) => [
  {
    id: 'width',
    type: 'token',
    data: { ssn, width: 4 },
    mask: { ssn: '{{ data.ssn | reveal_last: data.width }}' },
  },
  {
    id: 'label',
    type: 'token',
    data: { ssn, label: 'payroll' },
    mask: '{{ data.label | default: data.ssn }}',
  },
  {
    id: 'window',
    type: 'token',
    data: { first: '0123456789', ssn },
    mask: ['{{ data | stringify | slice: 0, 12 }}'],
  },
  {
    id: 'marked',
    type: 'token',
    data: { ssn, label: 'payroll' },
    fingerprint_expression: '{{ data.label | default: data.ssn | slice: 0, 1 }}',
  },
  {
    id: 'numbered',
    type: 'token',
    data: { ssn },
    metadata: { customer: 'c-1' },
    fingerprint_expression: '{{ metadata.customer | default: data.ssn | slice: 0, 1 }}',
  },
  {
    id: 'joined',
    type: 'token',
    data: { ssn, salt: 'f3e1c0a9' },
    fingerprint_expression: '{{ data.salt }}{{ data.ssn | slice: 0, 1 }}',
    search_indexes: ['{{ data.salt }}{{ data.ssn | slice: 0, 1 }}'],
  },
  {
    id: 'listed',
    type: 'token',
    data: { ssn, names: ['public'] },
    mask: {
      name: '{{ data.names[0] | default: data.ssn }}',
      last: '{{ data.names[-1] | default: data.ssn }}',
    },
    fingerprint_expression: '{{ data.names.0 | default: data.ssn | slice: 0, 1 }}',
  },
]

const carelessPatches: readonly (readonly [id: string, patch: unknown])[] = [
  ['width', { data: { width: 10 } }],
  ['width', { data: { width: null } }],
  ['label', { data: { label: null } }],
  ['label', { data: { label: '' } }],
  ['window', { data: { first: null } }],
  ['window', { data: { first: { ssn: '' } } }],
  ['marked', { data: { label: null } }],
  ['numbered', { metadata: { customer: null } }],
  ['numbered', { metadata: null }],
  ['joined', { data: { salt: null } }],
  ['joined', { data: { salt: '' } }],
  ['listed', { data: { names: {} } }],
  ['listed', { data: { names: { zz: 1 } } }],
]

/** How many attackers share the victims of a strategy, of whom only every other one attacks in the short run. */
const shares = isLong ? 1 : victimIds.length
/** An attacker that hardly asks for anything proves nothing. */
const requestsMin = isLong ? 500 : 400

describe('attackers learn nothing (sqlite alone: what an answer tells is decided above storage)', () => {
  let vaults: TwoVaults
  before(async () => {
    vaults = await TwoVaults.start(sqlite)
  })
  after(() => vaults.stop())

  test('control: a caller who may read sees that the two vaults differ (C12.1)', async () => {
    const attack = await vaults.attack(
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

  for (const [attacker, [name, { deduplicates, ...application }]] of Object.entries<Attacker>(
    attackers,
  ).entries())
    describe(name, { skip: attacker % 2 === 1 && inShortRun }, () => {
      let requests = 0
      const options = { deduplicates: deduplicates === true }

      for (const [number, [strategy, run]] of Object.entries(strategies).entries())
        test(strategy, async () => {
          // A share of the victims; the next attackers take the others.
          const ids = victimIds.filter((_, place) => (place + attacker + number) % shares === 0)
          const secrets = [victims(oneSecret), victims(otherSecret)] as const
          const attack = await vaults.attack({ eve: application }, secrets, options)
          await run(attack, ids)
          requests += attack.sent
        })

      test('data and metadata patched so that a careless expression would show the secret (C13.1, C13.4)', async () => {
        // One victim for each patch, so that none meets what another has left behind.
        const victimsOf = (secret: { ssn: string }) =>
          carelessPatches.map(([id], place) => ({
            ...carelessVictims(secret).find(victim => victim.id === id),
            id: `${id}-${place}`,
          }))
        const secrets = [victimsOf(oneSecret), victimsOf(otherSecret)] as const
        const attack = await vaults.attack({ eve: application }, secrets, options)
        for (const ssn of ['1', '9'])
          await attack.post('eve', '/tokens', {
            type: 'token',
            data: { ssn },
            containers: ['/mine/'],
            fingerprint_expression: '{{ data.ssn | slice: 0, 1 }}',
          })
        for (const [place, [id, patch]] of carelessPatches.entries()) {
          const victim = token(`${id}-${place}`)
          await attack.patch('eve', victim, patch)
          await attack.patch('eve', victim, {})
          await attack.get('eve', victim)
          await attack.get('eve', '/tokens')
        }
        requests += attack.sent
      })

      test('any sequence of requests (C13)', async () => {
        await fc.assert(
          fc.asyncProperty(
            arbitrarySecrets,
            arbitrarySecrets,
            fc.constantFrom(...victimIds).chain(id =>
              fc.record({
                id: fc.constant(id),
                sequence: fc.array(arbitraryRequest(id), { minLength: 5, maxLength: 15 }),
              }),
            ),
            fc.boolean(),
            async (one, other, { id, sequence }, deduplicates) => {
              const only = (all: ReturnType<typeof victims>) => all.filter(victim => victim.id === id)
              const secrets = [only(victims(one)), only(victims(other))] as const
              const attack = await vaults.attack({ eve: application }, secrets, { deduplicates })
              for (const request of sequence) {
                await attack.send(request)
                // What a change tells, it may tell later.
                if (request.method === 'PATCH') await look(attack, id)
              }
              requests += attack.sent
            },
          ),
          { numRuns: tries(3) },
        )
      })

      after(() => assert.ok(requests >= requestsMin, `only ${requests} requests were sent`))
    })

  test('redacted or unreadable tokens are neither found nor counted by any filter, search or plan (C12.7, C24.5, C24.6, C26.7)', async () => {
    // The first digit alone: a guess that a filter would confirm.
    const weakness = {
      fingerprint_expression: '{{ data | slice: 0, 1 }}',
      search_indexes: ['{{ data | slice: 0, 1 }}'],
    }
    const weak = ({ ssn }: { ssn: string }) => [
      { id: 'weak', type: 'token', data: ssn, ...weakness },
      { id: 'half-seen', type: 'token', data: ssn, ...weakness, containers: ['/mine/', '/theirs/'] },
    ]
    for (const eve of [
      attackers['token:update and token:read under redact'],
      {
        rules: [
          {
            priority: 1,
            container: '/mine/',
            transform: 'mask',
            permissions: ['token:read', 'token:create', 'token:search'],
          },
        ],
      },
    ] as const) {
      const attack = await vaults.attack({ eve }, [weak(oneSecret), weak(otherSecret)])
      for (const digit of ['1', '9']) {
        const own = await attack.post('eve', '/tokens', {
          type: 'token',
          data: digit,
          containers: ['/mine/'],
        })
        assert.ok(own.body.fingerprint)
        const found = await attack.get('eve', `/tokens?fingerprint=${own.body.fingerprint}`)
        assert.equal(found.body.pagination.total_items, 1)
        assert.deepEqual(
          found.body.data.map((one: { id: string }) => one.id),
          [own.body.id],
        )
        await attack.get('eve', `/tokens?fingerprint=${own.body.fingerprint}&size=1&page=2`)
        await attack.get('eve', `/tokens?fingerprint=${own.body.fingerprint}&id=weak&id=half-seen`)
        await attack.get('eve', `/v2/tokens?fingerprint=${own.body.fingerprint}&size=1`)
        for (const query of [
          `fingerprint:${own.body.fingerprint}`,
          `data:${digit}`,
          `type:token data:${digit}`,
          `type:token NOT data:${digit}`,
          `data:${digit} created_by:nobody`,
        ])
          for (const explain of [false, true]) await attack.post('eve', '/tokens/search', { query, explain })
      }
    }
  })
})
