import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { before, describe, test } from 'node:test'
import { createContext, runInContext } from 'node:vm'
import { documentationFile } from '../../src/http/docs/documentation.ts'

type Field = {
  value: string
  textContent: string
  readonly classList: { add: (name: string) => void; remove: (name: string) => void }
  readonly append: (option: { value: string }) => void
  readonly addEventListener: (event: string, listen: () => void) => void
}

/** As much of a page as the playground touches. */
const fields = () => {
  const listeners: (() => void)[] = []
  const made = new Map<string, Field>()
  const field = (id: string): Field => {
    const known = made.get(id)
    if (known !== undefined) return known
    const one: Field = {
      value: '',
      textContent: '',
      classList: { add: () => {}, remove: () => {} },
      append: ({ value }) => {
        one.value ||= value
      },
      addEventListener: (event, listen) => event === 'input' && listeners.push(listen),
    }
    made.set(id, one)
    return one
  }
  return { field, type: () => listeners[0]?.() }
}

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Expression, data and result of each line of the guide's examples. Aliases are drawn, so their lines are left out. */
const examples = [
  ...readFileSync(new URL('../../../docs/expressions.md', import.meta.url), 'utf8').matchAll(
    /^(\{\{.*\}\}) {2,}(.*)$/gm,
  ),
].flatMap(([, expression = '', rest = '']) => {
  const split = [...rest.matchAll(/ {2,}/g)].find(
    ({ index }) => isJson(rest.slice(0, index)) && isJson(rest.slice(index)),
  )
  if (expression.includes('alias_') || split === undefined) return []
  return [{ expression, data: rest.slice(0, split.index), result: rest.slice(split.index) }]
})

describe('the playground of the documentation', () => {
  const { field, type } = fields()
  const render = (use: string, expression: string, data: string): string => {
    field('use').value = use
    field('expression').value = expression
    field('data').value = data
    type()
    return field('result').textContent
  }
  before(async () => {
    const { text = '' } = (await documentationFile('playground.js', 'svc')) ?? {}
    const context = createContext({
      document: { getElementById: field },
      Option: class {
        readonly value: string
        constructor(_: string, value: string) {
          this.value = value
        }
      },
      crypto,
      TextEncoder,
    })
    runInContext(text, context)
  })

  test('it begins with an example (C36.3)', () => {
    assert.equal(JSON.parse(field('data').value), 'Sensitive Value')
    assert.equal(field('result').textContent, '"XXXXXXXXXXXalue"')
  })

  test('it renders every example of the guide as the vault does (C20, C21, C22, C36.3)', () => {
    assert.ok(examples.length > 60, String(examples.length))
    for (const { expression, data, result } of examples)
      assert.equal(
        render('mask', expression, data).replace(/\s/g, ''),
        JSON.stringify(JSON.parse(result)).replace(/\s/g, ''),
        expression,
      )
  })

  test('a whole mask, a fingerprint and an alias are rendered, each by its own rules (C12, C14, C21, C36.3)', () => {
    assert.equal(
      render('mask', '{"a":"{{ data.a | last4 }}","b":"{{ data.b }}"}', '{"a":"123456789"}'),
      '{\n  "a": "6789"\n}',
    )
    assert.equal(render('fingerprint', '{{ data | last4 }}', '"1234"'), '"1234"')
    assert.equal(render('mask', '{{ data | last4 }}', '"1234"'), '"XXXX"')
    assert.match(render('id', '{{ data | alias_card: false, true }}', '"4242424242424242"'), /^"\d{12}4242"$/)
  })

  test('what the vault refuses is refused, with the place (C20, C36.3)', () => {
    assert.match(render('mask', '{{ data | reveal_lest: 4 }}', '"x"'), /^Refused: .*reveal_last/)
    assert.match(render('mask', '{{ data | alias_card }}', '"x"'), /^Refused: /)
    assert.match(render('mask', '{{ data }}', 'x'), /^Refused: the data is not valid JSON/)
  })
})
