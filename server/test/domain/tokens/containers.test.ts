import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Issue } from '../../../src/domain/errors.ts'
import {
  ancestors,
  covers,
  parseContainerOrRoot,
  parseContainers,
} from '../../../src/domain/tokens/containers.ts'
import { fc } from '../../rig/properties.ts'

const parse = (value: string[]): { containers: string[]; issues: Issue[] } => {
  const issues: Issue[] = []
  return { containers: parseContainers(value, 'containers', issues), issues }
}

test('containers are lower-cased and keep the order in which they were given (C19)', () => {
  assert.deepEqual(parse(['/PCI/High/', '/a/', '/A-b_9/C/']), {
    containers: ['/pci/high/', '/a/', '/a-b_9/c/'],
    issues: [],
  })
})

const shape = 'must start and end with / and have segments of letters, digits, _ and - in between'
const bad = [
  ...[
    '',
    '/',
    '//',
    'a',
    'a/',
    '/a',
    '/a//b/',
    '/a b/',
    '/a/../b/',
    '/a.b/',
    '/%61/',
    '/é/',
    '/a/*/',
    '/a/\n',
  ],
  ...['/\u212a/', '/a\u0000/', ' /a/', '/a/ ', '\\a\\', '/\u{1f600}/'],
]
for (const container of bad)
  test(`${JSON.stringify(container)} is refused as a container (C19)`, () => {
    assert.deepEqual(parse(['/ok/', container]).issues, [{ path: 'containers[1]', message: shape }])
  })

test('a container has at most 400 characters and 16 levels (C8)', () => {
  const longest = `/${'a'.repeat(398)}/`
  assert.deepEqual(parse([longest]).issues, [])
  assert.deepEqual(parse([`/a${longest}`]).issues, [
    { path: 'containers[0]', message: 'must have at most 400 characters' },
  ])
  const deepest = `/${'a/'.repeat(16)}`
  assert.deepEqual(parse([deepest]).issues, [])
  assert.deepEqual(parse([`${deepest}a/`]).issues, [
    { path: 'containers[0]', message: 'must have at most 16 levels' },
  ])
})

test('a list has 1 to 10 containers (C8, C19)', () => {
  const many = (count: number) => Array.from({ length: count }, (_, index) => `/c${index}/`)
  const message = 'must hold 1 to 10 containers'
  assert.deepEqual(parse([]).issues, [{ path: 'containers', message }])
  assert.deepEqual(parse(many(10)), { containers: many(10), issues: [] })
  assert.deepEqual(parse(many(11)).issues, [{ path: 'containers', message }])
  assert.equal(parse(Array<string>(50_000).fill('bad')).issues.length, 1)
})

test('duplicates are refused, even if they differ in letter case (C19)', () => {
  const message = 'must not be repeated'
  assert.deepEqual(parse(['/a/', '/b/', '/A/', '/a/']).issues, [
    { path: 'containers[2]', message },
    { path: 'containers[3]', message },
  ])
})

test('no message repeats a submitted value (C2)', () => {
  const sent = [
    '/secret',
    '/SECRET/',
    '/secret/',
    `/${'secret'.repeat(100)}/`,
    '/secret'.repeat(17).concat('/'),
  ]
  const { issues } = parse(sent)
  assert.equal(issues.length, 4)
  assert.ok(!JSON.stringify(issues).toLowerCase().includes('secret'))
})

test('a rule may also be set on / itself (C19)', () => {
  const issues: Issue[] = []
  assert.equal(parseContainerOrRoot('/', 'rules[0].container', issues), '/')
  assert.equal(parseContainerOrRoot('/PCI/', 'rules[0].container', issues), '/pci/')
  assert.deepEqual(issues, [])
  for (const container of bad.filter(text => text !== '/'))
    assert.equal(parseContainerOrRoot(container, 'rules[0].container', issues), undefined)
  assert.equal(issues.length, bad.length - 1)
  assert.deepEqual(issues[0], { path: 'rules[0].container', message: shape })
})

const coverage: [rule: string, container: string, covered: boolean][] = [
  ['/', '/a/', true],
  ['/', '/a/b/', true],
  ['/a/', '/a/', true],
  ['/a/', '/a/b/', true],
  ['/a/', '/ab/', false],
  ['/a/b/', '/a/', false],
  ['/b/', '/a/b/', false],
]
for (const [rule, container, covered] of coverage)
  test(`a rule on ${rule} ${covered ? 'covers' : 'does not cover'} ${container} (C19)`, () => {
    assert.equal(covers(rule, container), covered)
  })

test('the ancestors go from the root down to the container itself (C19)', () => {
  assert.deepEqual(ancestors('/a/b/'), ['/', '/a/', '/a/b/'])
  assert.deepEqual(ancestors('/a/'), ['/', '/a/'])
  assert.deepEqual(ancestors('/'), ['/'])
})

const container = fc
  .array(fc.stringMatching(/^[ab]{1,2}$/), { minLength: 1, maxLength: 4 })
  .map(segments => `/${segments.join('/')}/`)

test('a rule covers a container exactly when it is set on one of its ancestors (C19)', () => {
  fc.assert(
    fc.property(fc.oneof(container, fc.constant('/')), container, (rule, inner) => {
      assert.equal(covers(rule, inner), ancestors(inner).includes(rule))
    }),
    { numRuns: 500 },
  )
})
