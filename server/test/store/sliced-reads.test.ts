import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TokenBranch } from '../../src/store/port.ts'
import { countInSlices } from '../../src/store/sqlite/reading/sliced-reads.ts'

const terms = (count: number): Buffer[] => Array.from({ length: count }, (_, at) => Buffer.from([at]))

/** How many look-ups it may take when each place that a query starts from proposes one more entry. */
const questions: readonly { name: string; lookUps: number; branch: TokenBranch }[] = [
  { name: 'nothing to look up', lookUps: 0, branch: { groups: [terms(1)] } },
  { name: 'a second term', lookUps: 1, branch: { groups: [terms(1), terms(1)] } },
  { name: 'a hundred containers of a caller', lookUps: 100, branch: { groups: [terms(1), terms(100)] } },
  {
    name: 'a hundred containers of a caller, from many places',
    lookUps: 6_400,
    branch: { groups: [terms(64), terms(100)] },
  },
  {
    name: 'forty terms that must be absent',
    lookUps: 40,
    branch: { groups: [terms(1)], without: terms(40) },
  },
  {
    name: 'two groups, terms that must be absent, and a column',
    lookUps: 31,
    branch: {
      groups: [terms(1), terms(10), terms(10)],
      without: terms(10),
      columns: [{ column: 'createdBy', is: 'somebody', negated: false }],
    },
  },
]

for (const { name, lookUps, branch } of questions)
  test(`no slice of a count keeps others waiting for long: ${name} (C24.10)`, async () => {
    const slices: number[] = []
    const total = await countInSlices(
      { tenant: 1, now: 0, ...branch },
      {
        list: () => [],
        count: () => 1,
        end: (_, entries) => {
          slices.push(entries)
          return slices.length < 4 ? { createdAt: 9 - slices.length, id: 'any' } : undefined
        },
      },
    )
    assert.equal(total, 4)
    assert.ok(lookUps > 0 || slices.at(-1) === 20_000, 'as many entries as a slice may have')
    for (const entries of slices)
      assert.ok(
        entries * lookUps <= 12_500 || entries === 4,
        `${entries} entries, of which there are at least four`,
      )
  })
