import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Budget, budgetFor, type Use } from '../../../src/domain/expressions/budget.ts'
import { compileExpression } from '../../../src/domain/expressions/expression.ts'
import { ExpressionError } from '../../../src/domain/expressions/expression-error.ts'
import { filters } from '../../../src/domain/expressions/filters/registry.ts'
import { sizeOf, walk } from '../../../src/domain/expressions/size.ts'
import { exactNumber, type Json, stringify } from '../../../src/domain/json/json.ts'
import { limits } from '../../../src/domain/limits.ts'
import { Memo } from '../../../src/domain/memo.ts'
import { compileFilterChain } from '../../../src/domain/rendering/filter-chain.ts'
import { inShortRun } from '../../rig/long-run.ts'

const large = 'a'.repeat(1_000_000)
const manyNumbers: Json = Array.from({ length: 250_000 }, (_, index) => index % 10)
const tinyNumbers: Json = Array(200_000).fill(1e-7)
const manyObjects: Json = Array.from({ length: 100_000 }, (_, index) => ({ a: index % 10 }))
const repeat = (filter: string, times: number): string => `{{ data ${filter.repeat(times)} }}`

/** Renders and returns the cost. No bound may be exceeded by a single step. */
const costOf = (
  text: string,
  data: Json,
  use: Use = 'mask',
): { value: Json | undefined; steps: number; allowed: number } => {
  const budget = budgetFor(use, { data })
  const base = use === 'mask' ? limits.expressionSteps : limits.hashedExpressionSteps
  const allowed = base + (sizeOf(data) + sizeOf(null)) * limits.expressionStepsPerCharacter
  let value: Json | undefined
  try {
    value = compileExpression(text, use).render({ data }, undefined, budget)
  } catch (error) {
    assert(error instanceof ExpressionError, String(error))
    assert.match(error.message, /takes too much work to evaluate/)
  }
  assert(budget.spent <= allowed)
  return { value, steps: budget.spent, allowed }
}

const bombs: readonly (readonly [text: string, data: Json])[] = [
  ['{{ data | pad_left: 1000000000 }}', 'x'],
  ["{{ data | pad_right: 9007199254740991, '😀' }}", 'x'],
  ["{{ data | replace: '', data }}", large],
  ["{{ data | replace: 'a', data }}", large],
  ["{{ data | split: '' | join: data }}", large],
  ["{{ data | replace: 'a', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' }}", large],
  [repeat("|replace:'a','aaaaaaaaaaaaaaaaaaaa'", 9), 'a'],
  [repeat("|replace:'','aaaaaaaaaaaaaaaaaaaaaa'", 9), 'ab'],
  [repeat('|append:data', 30), large],
  [repeat('|prepend:data', 25), large],
  [repeat('|concat:data', 30), manyNumbers],
  [`${repeat('|concat:data', 30).slice(0, -3)}| stringify }}`, { text: large }],
  [repeat('|concat:data', 30), { text: large }],
  [`${repeat('|concat:data', 30).slice(0, -3)}| sort | size }}`, large],
  [`${repeat('|concat:data', 30).slice(0, -3)}| uniq }}`, [large]],
  ['{{ data }}'.repeat(40), large],
  ['{{data|size}}'.repeat(30), large],
  ['{{data|floor}}'.repeat(28), '1'.padStart(1_000_000, '0')],
  ["{{data|join:''|size}}".repeat(2), tinyNumbers],
  ["{{data|join:''|size}}".repeat(4), manyNumbers],
  ["{{data|map:'a'|size}}".repeat(18), manyObjects],
  ['{{data|sort|size}}'.repeat(3), manyNumbers],
  [repeat('|upcase', 50), large],
  [repeat('|escape', 50), '&'.repeat(100_000)],
  [repeat('|url_encode', 30), '%'.repeat(100_000)],
  ["{{ data | split: '' | sort }}", large],
  ['{{ data.text | date: data.format }}', { text: '2024-01-01', format: '%A%A%A%A'.repeat(125_000) }],
  [`{{ data | split: '' | map: '${'a.'.repeat(150)}a' | size }}`, large],
]
const paidFor: readonly Json[] = [
  null,
  true,
  -1.5,
  '',
  'text',
  exactNumber('12345678901234567890'),
  [],
  [1],
  ['a', [], [[null]]],
  {},
  { '': 1 },
  { a: { b: {} }, c: [{ d: 'e' }, { d: 'f' }] },
]
for (const value of paidFor)
  test(`${stringify(value)} is counted by its characters (C20.7)`, () => {
    let counted = 0
    walk(value, characters => {
      counted += characters
    })
    assert.equal(counted, stringify(value).length)
  })

for (const [text, data] of bombs)
  test(`${text.slice(0, 60)} is refused as too much work (C20)`, () => {
    const { value } = costOf(text, data)
    assert.equal(value, undefined)
  })

const affordable: readonly (readonly [text: string, data: Json, use?: Use])[] = [
  ['{{ data }}', large],
  ['{{ data }}', manyNumbers],
  ['{{ data.a }}', { a: large }],
  ['{{ data | last4 }}', large],
  ['{{ data | reveal_last: 4 }}', large],
  ['{{ data | slice: 0, 4 }}', large],
  ['{{ data | truncate: 20 }}', large],
  ["{{ data | remove: '-' | last4 }}", large],
  ['{{ data | stringify }}', { a: large, b: [[], [[1]], {}] }],
  ['{{ data | stringify }}', large, 'fingerprint'],
  ['{{ data.a }}{{ data.b }}', { a: large, b: large }, 'fingerprint'],
  ['{{ data }}', large, 'index'],
  ['{{ data | last4 }}', large, 'index'],
]
for (const [text, data, use] of affordable)
  test(`a value of the largest size still renders: ${text} as ${use ?? 'mask'} (C20)`, () => {
    const { value } = costOf(text, data, use)
    assert.notEqual(value, undefined)
  })

/** A caller who may not read the data could time them (C13). */
test('what is hashed may take a tenth of what is shown (C13, C20.7)', () => {
  const heavy = `{{ data | pad_left: 20000 ${'| upcase '.repeat(5)}| size }}`
  assert.notEqual(costOf(heavy, 'x').value, undefined)
  for (const use of ['index', 'fingerprint'] as const) assert.equal(costOf(heavy, 'x', use).value, undefined)
  assert(limits.hashedExpressionSteps * 10 <= limits.expressionSteps)
})

/** Work that each filter finds hard, on data of this size. */
const hardWork = (size: number): Readonly<Record<string, readonly [text: string, data: Json][]>> => {
  const latin = 'a'.repeat(size)
  const greek = 'Σß'.repeat(size / 2)
  const pairs = '😀'.repeat(size / 2)
  const mixed = Array.from({ length: size }, (_, at) => 'ab -&<é€'[at % 8]).join('')
  const digits = '1'.repeat(size)
  const numbers: Json = Array.from({ length: size / 10 }, (_, at) => (at * 7_919) % 100_003)
  const texts: Json = Array.from({ length: size / 10 }, (_, at) => `t${(at * 7_919) % 50_021}`)
  const objects: Json = Array.from({ length: size / 20 }, (_, at) => ({ a: (at * 7_919) % 30_011, b: 'x' }))
  const wide: Json = Array.from({ length: size / 200 }, (_, at) =>
    Object.fromEntries(Array.from({ length: 10 }, (_, key) => [`k${(key * 7) % 10}`, at])),
  )
  const tiny: Json = Array(size / 20).fill(1e-7)
  const expiry = { expiration_month: '1', expiration_year: 2030 }
  const formats = (field: string) => field.repeat(limits.expressionCharactersMax / field.length)
  const on = (text: string, ...data: Json[]) =>
    data.map(each => [`{{ data | ${text} | size }}`, each] as [string, Json])
  return {
    '': [
      ['{{ data }}', numbers],
      ['{{ data }}', wide],
      ['{{ data }}!', objects],
    ],
    last4: on('last4', pairs),
    reveal_last: on("reveal_last: 4, '😀'", latin, mixed, pairs),
    reveal: on("reveal: 2, 2, 'X', '-'", mixed, pairs),
    card_mask: on('card_mask: true, true', digits, mixed),
    card_bin: on('card_bin', digits, mixed),
    card_exp: [['{{ data | card_exp: data.f }}', { ...expiry, f: formats('M/') }]],
    stringify: on('stringify', numbers, objects, wide, tiny),
    to_string: on('to_string', objects),
    to_number: on('to_number', digits, `0.${digits}`),
    to_boolean: on('strip | to_boolean', `${' '.repeat(size)}true`),
    json: on("json: '$.a.b'", { a: { b: latin } }),
    default: on('default: data', latin, numbers),
    append: on('append: data', latin, pairs),
    prepend: on('prepend: data', latin, pairs),
    capitalize: on('capitalize', greek, mixed),
    upcase: on('upcase', latin, greek, mixed),
    downcase: on('downcase', latin, greek, mixed),
    strip: on('strip', ' '.repeat(size)),
    lstrip: on('lstrip', ' '.repeat(size)),
    rstrip: on('rstrip', ' '.repeat(size)),
    pad_left: on(`pad_left: ${size * 2}, '😀'`, 'x', pairs),
    pad_right: on(`pad_right: ${size * 2}, '😀'`, 'x', pairs),
    split: [
      ...on("split: ''", latin, pairs),
      ...on("split: 'a'", latin),
      ...on("split: 'ab'", 'ab'.repeat(size / 2)),
    ],
    replace: [
      ...on("replace: '', 'b'", latin),
      ...on("replace: 'a', 'bcd'", latin),
      ...on("replace: 'ab', 'c'", mixed),
    ],
    replace_first: on("replace_first: 'aaaab', 'c'", latin),
    remove: on("remove: 'aaaab'", latin, `${latin}b`),
    remove_first: on("remove_first: 'b'", latin),
    truncate: on(`truncate: ${size / 4}, ''`, mixed, pairs),
    slice: on(`slice: ${size / 4}, ${size / 4}`, mixed, pairs),
    size: on('size', pairs),
    join: [...on("join: ','", numbers, objects, tiny), ...on('join: data', ['a', 'b'])],
    first: on('first', numbers, pairs),
    last: on('last', numbers, pairs),
    map: [...on("map: 'a'", objects, numbers), ...on("map: 'a.b.c.d'", objects)],
    sort: [...on('sort', numbers, texts), ...on("split: '' | sort", mixed), ...on("sort: 'a'", objects)],
    uniq: on('uniq', numbers, texts, objects, wide, tiny),
    reverse: on('reverse', numbers, pairs),
    concat: on('concat: data', numbers),
    compact: on('compact', numbers),
    plus: on('plus: 1', digits.slice(0, 15), `${'0'.repeat(size)}1`),
    minus: on('minus: 1', `${'0'.repeat(size)}1`),
    times: on('times: 2', `${'0'.repeat(size)}1`),
    divided_by: on('divided_by: 2', `${'0'.repeat(size)}1`),
    modulo: on('modulo: 2', `${'0'.repeat(size)}1`),
    round: on('round: 3', 1_234.567_89, `${'0'.repeat(size)}1`),
    ceil: on('ceil', `${'0'.repeat(size)}1`),
    floor: on('floor', `${'0'.repeat(size)}1`),
    abs: on('abs', `${'0'.repeat(size)}1`),
    at_least: on('at_least: 2', `${'0'.repeat(size)}1`),
    at_most: on('at_most: 2', `${'0'.repeat(size)}1`),
    date: [
      ['{{ 0 | date: data }}', formats('%j')],
      ['{{ 0 | date: data }}', formats('%T')],
      ['{{ data | date: "%Y" }}', `${'0'.repeat(size)}1`],
    ],
    url_encode: on('url_encode', latin, mixed, '€'.repeat(size)),
    url_decode: on('url_decode', '%C3%A9'.repeat(size / 6)),
    escape: on('escape', latin, '&'.repeat(size), mixed),
  }
}

/** The same for filters that only payloads know (U2). */
const hardPayloadWork = (
  size: number,
): Readonly<Record<string, readonly (readonly [chain: string, data: Json])[]>> => {
  const latin = 'a'.repeat(size)
  const wide = '€'.repeat(size)
  const digest = "| hmac: 'sha-512', 'key' | to_base64"
  return {
    hmac: [
      [digest, latin],
      [digest, wide],
      [digest, 'a'],
    ],
    to_base64: [latin, wide].map(data => ['| to_base64 | size', data]),
    to_base16: [latin, wide].map(data => ['| to_base16 | size', data]),
  }
}

/** Only for ids, and bounded by the length of one. */
const aliases = ['alias_card', 'alias_preserve_format', 'alias_preserve_length']

test('there is hard work for every filter (C20.7)', () => {
  assert.deepEqual(
    Object.keys({ ...hardWork(1_000), ...hardPayloadWork(1_000) })
      .filter(name => name !== '')
      .sort(),
    [...filters.keys()].filter(name => !aliases.includes(name)).sort(),
  )
})

for (const [name, chains] of Object.entries(hardWork(1_000_000)))
  test(`on a value of the largest size, ${name || 'what is shown'} is refused or keeps within the steps (C20.7)`, () => {
    for (const [text, data] of chains) {
      costOf(text, data)
      const twenty = costOf(text.repeat(Math.floor(limits.expressionCharactersMax / text.length)), data)
      assert(twenty.steps <= twenty.allowed)
    }
  })

/** Pure JavaScript: a million numbers added up. Steps are measured against it, so the speed of the machine does not matter. */
const numbersToAdd = Uint32Array.from({ length: 1_000_000 }, (_, at) => at * 7_919)
const yardstick = (): number => {
  let sum = 0
  for (let at = 0; at < numbersToAdd.length; at++) sum = (Math.imul(sum, 31) + (numbersToAdd[at] ?? 0)) | 0
  return sum
}
const cpuOf = (work: () => unknown): number => {
  const start = process.threadCpuUsage()
  work()
  const { user, system } = process.threadCpuUsage(start)
  return user + system
}

test('a step takes about as long whichever filter spends it (docs/decisions/0020)', {
  skip: inShortRun,
}, () => {
  const render = (text: string, data: Json): number => {
    const budget = new Budget(Number.POSITIVE_INFINITY)
    try {
      compileExpression(text, 'mask').render({ data }, undefined, budget)
    } catch (error) {
      // What leaves an expression is limited besides.
      assert(error instanceof ExpressionError)
    }
    return budget.spent
  }
  const ratioMax = 5
  /** Some machines count CPU time in units of ten milliseconds. */
  const nanosecondsPerStep = (spend: () => number): number => {
    let steps = 0
    const cpu = cpuOf(() => {
      while (steps < 40_000_000) steps += spend()
    })
    return (cpu * 1_000) / steps
  }
  const nanosecondsPerSum = (): number => {
    const times = 100
    return (cpuOf(() => Array.from({ length: times }, yardstick)) * 1_000) / (times * 1_000_000)
  }
  const sum = nanosecondsPerSum()
  const tooCheap: string[] = []
  const judge = (text: string, data: Json, spend: () => number): void => {
    const ratios: number[] = []
    // A round that was disturbed is tried again.
    do ratios.push(nanosecondsPerStep(spend) / sum)
    while (Math.min(...ratios) > ratioMax && ratios.length < 4)
    if (Math.min(...ratios) > ratioMax)
      tooCheap.push(`${text} of ${stringify(data).slice(0, 20)}: ${Math.min(...ratios).toFixed(1)}`)
  }
  for (const [text, data] of Object.values(hardWork(20_000)).flat())
    judge(text, data, () => render(text, data))
  for (const [text, data] of Object.values(hardPayloadWork(20_000)).flat())
    judge(text, data, () => {
      const budget = new Budget(Number.POSITIVE_INFINITY)
      compileFilterChain(text, 'detokenize').apply(data, { budget })
      return budget.spent
    })
  assert.deepEqual(tooCheap, [])
})

const growing: readonly (readonly [text: string, data: Json])[] = [
  ['{{ data | append: data }}', 'a'.repeat(1_000)],
  ['{{ data | prepend: data }}', 'a'.repeat(1_000)],
  ["{{ data | replace: 'a', 'bcd' }}", 'a'.repeat(1_000)],
  ["{{ data | replace_first: 'a', data }}", 'a'.repeat(1_000)],
  ["{{ data | replace: '', '--' }}", 'a'.repeat(1_000)],
  ['{{ data | pad_left: 5000 }}', 'a'],
  ['{{ data | escape }}', '&'.repeat(1_000)],
  ['{{ data | url_encode }}', '€'.repeat(1_000)],
  ['{{ data | url_decode }}', 'a'.repeat(1_000)],
  ["{{ data | reveal_last: 4, '😀' }}", 'a'.repeat(1_000)],
  ["{{ data | join: '--' }}", ['a'.repeat(1_000), 'a']],
  ['{{ data | truncate: 900, data }}', 'a'.repeat(1_000)],
  ['{{ 0 | date: data }}', '%A'.repeat(200)],
]
for (const [text, data] of growing)
  test(`the cost covers what is read and what is produced: ${text} (C20)`, () => {
    const { value, steps } = costOf(text, data)
    assert(typeof value === 'string')
    assert(steps >= stringify(data).length - 8 + value.length)
  })

test('values of equal length cost the same, and the cost stays near their length (C20)', () => {
  const text = "{{ data | append: 'x' | upcase }}"
  assert.equal(costOf(text, 'abc').steps, costOf(text, 'xyz').steps)
  const more = costOf(text, 'a'.repeat(20_000)).steps - costOf(text, 'a'.repeat(10_000)).steps
  assert(more <= 10_000 * limits.expressionStepsPerCharacter)
})

test('expressions that share a budget cannot render a large value over and over (C20)', () => {
  const scope = { data: large }
  const budget = budgetFor('mask', scope)
  const leaf = compileExpression('{{ data }}', 'mask')
  assert.equal(leaf.render(scope, undefined, budget), large)
  assert.throws(() => leaf.render(scope, undefined, budget), /takes too much work to evaluate/)
})

test('nesting deeper than any legal body is refused, not recursed into (C20)', () => {
  let deep: Json = 1
  for (let level = 0; level < 5_000; level++) deep = [deep]
  assert.throws(() => compileExpression('{{ data | stringify }}', 'mask').render({ data: deep }), /too deep/)
})

test('the cache of compiled expressions is bounded and keeps the newer half (C20)', () => {
  const cache = new Memo<number>(4)
  const made: string[] = []
  const use = (key: string): number => cache.getOrMake(key, () => made.push(key))
  for (const key of ['a', 'b', 'c', 'd', 'd', 'e', 'c', 'a']) use(key)
  assert.deepEqual(made, ['a', 'b', 'c', 'd', 'e', 'a'])
  assert.equal(cache.size, 4)
})
