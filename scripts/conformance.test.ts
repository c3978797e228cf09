import assert from 'node:assert/strict'
import { test } from 'node:test'
import { conformance } from './conformance.ts'

const requirements = `# Requirements

## §4.5 Update token

- **§4.5.1** It needs a permission.

## C2 Errors

- **C2.1** Errors are problems.
- **C2.2** A 400 has a map.

## C25 Cursor

- **C25.1** A cursor is opaque.

## L1 No unlogged act

- **L1.1** Reading is an act.
`
const page = (text: string): string => conformance(requirements, [{ file: 'api/a.test.ts', text }])
/** The page without its preamble. */
const listOf = (text: string): string => page(text).split('## Open\n\n')[1] ?? ''

test('a requirement lists the tests that cite it, a rule those that cite it as a whole, and the rest is open', () => {
  const text = `
    test('one (C2.1, §4.5.1)', () => {})
    test('whole (C2)', () => {})
    const scenarios = [{ name: "two (C2.1, C25.1)" }]
    test('three (L1.1)', () => {})
  `
  assert.equal(
    listOf(text),
    `- **C2** Errors: C2.2

## §4.5 Update token

- **§4.5.1** It needs a permission.
  - one (C2.1, §4.5.1) (\`api/a.test.ts\`)

## C2 Errors

As a whole:

- whole (C2) (\`api/a.test.ts\`)

- **C2.1** Errors are problems.
  - one (C2.1, §4.5.1) (\`api/a.test.ts\`)
  - two (C2.1, C25.1) (\`api/a.test.ts\`)
- **C2.2** A 400 has a map. **open**

## C25 Cursor

- **C25.1** A cursor is opaque.
  - two (C2.1, C25.1) (\`api/a.test.ts\`)

## L1 No unlogged act

- **L1.1** Reading is an act.
  - three (L1.1) (\`api/a.test.ts\`)
`,
  )
})

test('a rule that nothing cites is open as a whole; if nothing is open, the page says so', () => {
  assert.match(listOf(''), /^- \*\*§4\.5\*\* Update token: all\n- \*\*C2\*\* Errors: all\n/)
  assert.match(
    listOf("test('all (§4.5.1, C2.1, C2.2, C25.1, L1.1)', f)"),
    /^Nothing: every requirement has a test\.\n/,
  )
})

const names: { literal: string; shown: string }[] = [
  { literal: "'plain (C2.1)'", shown: 'plain (C2.1)' },
  { literal: `"with 'quotes' (C2.1)"`, shown: "with 'quotes' (C2.1)" },
  { literal: "'it\\'s (C2.1)'", shown: "it's (C2.1)" },
  { literal: "'a line\\nbreak (C2.1)'", shown: 'a line\\\\nbreak (C2.1)' },
  { literal: `\`of \${stringify({ a: {} })}, \${x} (C2.1)\``, shown: 'of …, … (C2.1)' },
  { literal: "'__proto__ <id> [2] * (C2.1)'", shown: '\\_\\_proto\\_\\_ \\<id\\> \\[2\\] \\* (C2.1)' },
  { literal: "'400 characters (C2.1)'", shown: '400 characters (C2.1)' },
  { literal: "'C2.1'", shown: 'C2.1' },
]
for (const { literal, shown } of names)
  test(`the name ${literal} is read and shown`, () =>
    assert.ok(listOf(`test(${literal}, f)`).includes(`  - ${shown} (\`api/a.test.ts\`)\n`)))

const notCited = [
  "test('it answers as in C2.1', f)",
  "test('it answers (as in C2.1) at once', f)",
  "test('RFC 8785 §4.5.1', f)",
  "test.skip('later (C2.1)', f)",
  "test.todo(\n  'later (C2.1)')",
  '// C2.1 says so',
  "const code = 'C2a'",
]
for (const text of notCited)
  test(`no requirement is closed by ${JSON.stringify(text)}`, () => assert.equal(page(text), page('')))

test('a name that occurs twice is listed once', () => {
  const twice = "test('one (C2.1)', f)\ntest('one (C2.1)', f)"
  assert.equal(listOf(twice).split('one (C2.1)').length, 2)
})

for (const id of ['C2.3', 'C3', '§4', '§4.5.10', 'C250'])
  test(`the unknown id ${id} fails with the file and the name of the test`, () => {
    assert.throws(() => page(`test('gone (C2.1, ${id})', f)`), {
      message: `api/a.test.ts: "gone (C2.1, ${id})" cites ${id}, which is no requirement`,
    })
  })

const malformed = [
  '- **C2.1** Again.',
  '- **C2.3** In the wrong place.',
  '## C2 Again',
  '- A sentence without an id.',
]
for (const line of malformed)
  test(`requirements cannot hold ${JSON.stringify(line)} below C25`, () => {
    assert.throws(() => conformance(`${requirements}${line}\n`, []), /^Error: docs\/requirements\.md has/)
  })
