import { fc } from '../rig/properties.ts'
import type { AttackRequest } from './two-vaults.ts'
import { digit, places, type VictimId } from './victims.ts'

const token = (id: string) => `/tokens/${id}`

/** One request that an attacker might send, built from pieces that mostly fit the victim. */
export const arbitraryRequest = (victim: VictimId): fc.Arbitrary<AttackRequest<'eve'>> => {
  const { path: secret, type, own: ownData } = places[victim]
  const path = fc.oneof(
    { weight: 4, arbitrary: fc.constant(secret) },
    {
      weight: 1,
      arbitrary: fc.constantFrom('data', 'data.number', 'data.account_number', 'data.ssn', 'data.name'),
    },
  )
  const slice = fc
    .tuple(fc.integer({ min: -4, max: 11 }), fc.integer({ min: 1, max: 2 }))
    .map(([at, n]) => `slice: ${at}, ${n}`)
  const filter = fc.oneof(
    { weight: 4, arbitrary: slice },
    {
      weight: 4,
      arbitrary: digit.chain(value =>
        fc.constantFrom(`remove: '${value}'`, `replace: '${value}', 'yes'`, `split: '${value}' | size`),
      ),
    },
    {
      weight: 2,
      arbitrary: digit.chain(value =>
        fc.constantFrom(`to_number | minus: ${value}`, `to_number | modulo: ${value}`),
      ),
    },
    {
      weight: 4,
      arbitrary: fc.constantFrom(
        'size',
        'first',
        'last',
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
        "prepend: '%' | url_decode",
        'truncate: 3',
        "split: '' | sort | uniq | join: ''",
        "split: '' | reverse | join: ''",
        'remove: data.name',
        'remove: metadata.guess',
        'default: data.ssn',
        'append: data.name',
      ),
    },
  )
  // Equal ones meet in deduplication and in the index, so half of them come from a short list.
  const expression = fc.oneof(
    fc.constantFrom(0, 5).map(at => `{{ ${secret} | slice: ${at}, 1 }}`),
    fc
      .tuple(path, fc.array(filter, { maxLength: 2 }))
      .map(([source, filters]) => `{{ ${[source, ...filters].join(' | ')} }}`),
  )
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
    { k12345678: 1 },
    { '12345678': null, name4242424242: 'x' },
    { routing_number: '011401533' },
    {},
    'x',
  )
  const fields: Record<string, fc.Arbitrary<unknown>> = {
    mask: fc.option(mask),
    fingerprint_expression: fc.option(expression),
    search_indexes: fc.option(fc.array(expression, { maxLength: 2 })),
    containers: fc.option(containers),
    metadata: fc.option(fc.record({ guess: fc.option(digit.map(String)), customer: fc.constant('c-2') })),
    deduplicate_token: fc.option(fc.boolean()),
    expires_at: fc.option(fc.constantFrom('2099-01-01', '2000-01-01')),
    data,
  }
  // One or two fields: a 403 for one hides what the others would have done. What is rendered teaches the most.
  const often = [
    'mask',
    'mask',
    'mask',
    'fingerprint_expression',
    'fingerprint_expression',
    'search_indexes',
    'data',
  ]
  const fewFields = fc
    .array(fc.constantFrom(...often, ...Object.keys(fields)), { minLength: 1, maxLength: 2 })
    .chain(names => fc.record(Object.fromEntries(names.map(name => [name, fields[name]!]))))
  const own = fc
    .tuple(
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
    .map(([value, more]) => ({ type, data: ownData(value), ...more }))
  const filters = fc.constantFrom(
    '',
    '?size=100',
    '?fingerprint=<fingerprint 3>',
    '?fingerprint=<fingerprint 4>',
    '?metadata.guess=4',
    '?container=/mine/',
    '?type=card&type=token',
    '?size=1',
  )
  const condition = fc.oneof(
    digit.map(value => `data:${value}`),
    digit.map(value => `metadata.guess:${value}`),
    fc.constantFrom(
      'type:card',
      'type:token',
      'fingerprint:"<fingerprint 3>"',
      'container:/mine/*',
      'data:6789',
    ),
  )
  const query = fc
    .tuple(condition, fc.constantFrom(' AND ', ' OR ', ' AND NOT '), condition)
    .map(([left, operator, right]) => left + operator + right)
  const target = fc.oneof(
    { weight: 4, arbitrary: fc.constant(victim) },
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
    {
      weight: 2,
      arbitrary: fc.tuple(query, fc.boolean()).map(
        ([text, explain]): AttackRequest<'eve'> => ({
          as: 'eve',
          method: 'POST',
          path: '/tokens/search',
          body: { query: text, explain },
        }),
      ),
    },
    {
      weight: 1,
      arbitrary: query.map(
        (text): AttackRequest<'eve'> => ({
          as: 'eve',
          method: 'POST',
          path: '/v2/tokens/search',
          body: { query: text, size: 1 },
        }),
      ),
    },
    {
      weight: 1,
      arbitrary: filters.map(
        (filter): AttackRequest<'eve'> => ({ as: 'eve', method: 'GET', path: `/v2/tokens${filter}` }),
      ),
    },
  )
}
