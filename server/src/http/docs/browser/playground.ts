import { budgetFor, type Use } from '../../../domain/expressions/budget.ts'
import { compileExpression } from '../../../domain/expressions/expression.ts'
import { ExpressionError } from '../../../domain/expressions/expression-error.ts'
import type { Json } from '../../../domain/json/json.ts'
import { limits } from '../../../domain/limits.ts'
import { renderMask } from '../../../domain/tokens/render-mask.ts'

// The playground: the vault's own interpreter, with data that stays in the page.

type Example = { readonly use: Use; readonly expression: string; readonly data: Json }

const card: Json = { number: '4242424242424242', expiration_month: 12, expiration_year: 2030 }

const examples: Readonly<Record<string, Example>> = {
  'The last four': { use: 'mask', expression: '{{ data | reveal_last: 4 }}', data: 'Sensitive Value' },
  'The mask of a card': {
    use: 'mask',
    expression:
      '{"number": "{{ data.number | card_mask: true, true }}", "expires": "{{ data | card_exp: \'MM/YY\' }}"}',
    data: card,
  },
  'Separators stay': {
    use: 'mask',
    expression: "{{ data | reveal: 0, 4, '•', '-' }}",
    data: '3622-7206-2716-5567',
  },
  Initials: {
    use: 'mask',
    expression: '{{ data.first | slice: 0 }}. {{ data.last | slice: 0 }}.',
    data: { first: 'Ada', last: 'Lovelace' },
  },
  'The same person, however written': {
    use: 'fingerprint',
    expression: "{{ data | downcase | remove: '-' | strip }}",
    data: ' AB-123456 ',
  },
  'Found by the last four': { use: 'index', expression: '{{ data.number | last4 }}', data: card },
  'An alias as id': { use: 'id', expression: '{{ data.number | alias_card: false, true }}', data: card },
}

const field = <T extends HTMLElement>(id: string): T => {
  const found = document.getElementById(id)
  if (found === null) throw new Error(`the page has no ${id}`)
  return found as T
}

const example = field<HTMLSelectElement>('example')
const use = field<HTMLSelectElement>('use')
const expression = field<HTMLTextAreaElement>('expression')
const data = field<HTMLTextAreaElement>('data')
const result = field('result')
const cost = field('cost')

const randomBelow = (below: number): number => {
  const highest = Math.floor(2 ** 32 / below) * below
  const [drawn] = crypto.getRandomValues(new Uint32Array(1))
  return drawn === undefined || drawn >= highest ? randomBelow(below) : drawn % below
}

const parsed = (text: string, what: string): Json => {
  try {
    return JSON.parse(text)
  } catch {
    throw new ExpressionError(`${what} is not valid JSON; a text needs its quotes`)
  }
}

const render = (): void => {
  const kind = use.value as Use
  const text = expression.value.trim()
  try {
    const value = parsed(data.value, 'the data')
    const budget = budgetFor(kind, { data: value })
    const isTree = kind === 'mask' && /^[[{](?!\{)/.test(text)
    const shown = isTree
      ? renderMask(parsed(text, 'the mask'), value, budget)
      : compileExpression(text, kind).render({ data: value }, randomBelow, budget)
    result.textContent =
      shown === undefined ? 'nothing: what renders null is left out' : JSON.stringify(shown, null, 2)
    result.classList.remove('refused')
    cost.textContent = `${budget.spent.toLocaleString('en')} steps of about a nanosecond; ${(kind === 'mask' || kind === 'id' ? limits.expressionSteps : limits.hashedExpressionSteps).toLocaleString('en')} are allowed`
  } catch (error) {
    const refusal = error instanceof ExpressionError ? error.message : 'this does not work'
    result.textContent = `Refused: ${refusal}`
    result.classList.add('refused')
    cost.textContent = ''
  }
}

const begin = (name: string): void => {
  const chosen = examples[name]
  if (chosen === undefined) return
  use.value = chosen.use
  expression.value = chosen.expression
  data.value = JSON.stringify(chosen.data, null, 2)
  render()
}

for (const name of Object.keys(examples)) example.append(new Option(name, name))
example.addEventListener('change', () => begin(example.value))
for (const element of [use, expression, data]) element.addEventListener('input', render)
begin(example.value)
