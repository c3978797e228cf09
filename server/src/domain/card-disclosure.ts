import type { Allowance } from './expressions/budget.ts'
import type { Json } from './json.ts'
import { renderMaskOrNothing } from './mask.ts'
import type { TokenType } from './token-types/token-type.ts'

/** C13: what a mask may show of a card number: its first eight and last four digits, never nine in a row. */
const firstDigits = 8
const lastDigits = 4
const consecutiveDigits = 8

/** A number in the shape of a card's that belongs to nobody; a mask can be judged on it without reading the data. */
const probe = '4000001234567899'

/** Does the mask render too much of the number that this token holds? */
export const disclosesCard = (
  template: Json,
  type: TokenType,
  data: Json,
  allowance?: Allowance,
): boolean => {
  const card = type.cardNumber
  if (card === undefined) return false
  const number = card.read(data)
  const render: Render = other => renderMaskOrNothing(template, other, allowance)
  return rendersRun(render, data, number) || dependsOnMiddle(render, data, number, card.replace)
}

type Render = (data: Json) => Json | undefined

/** The same question about a stand-in, so that the answer cannot depend on the token's own number. */
export const disclosesProbe = (template: Json, type: TokenType): boolean =>
  type.cardNumber !== undefined && disclosesCard(template, type, type.cardNumber.example(probe))

/** More than eight consecutive digits of the number in one leaf, grouped or not. */
const rendersRun = (render: Render, data: Json, number: string): boolean => {
  const windows = new Set<string>()
  for (let at = 0; at + consecutiveDigits < number.length; at++)
    windows.add(number.slice(at, at + consecutiveDigits + 1))
  return leafTexts(render(data)).some(text => {
    for (const digits of runsOf(text)) for (const window of windows) if (digits.includes(window)) return true
    return false
  })
}

/**
 * Digits stay consecutive across one separator, as people group them. A filled gap ends a run: in
 * `42424242XXXX4242` the first eight and the last four digits would otherwise read as nine in a row.
 */
const runsOf = (text: string): string[] =>
  text.split(/[^\d\s./:;,|()_-]|\D{2,}/).map(run => run.replace(/\D/g, ''))

/**
 * Whether a digit between the first eight and the last four has any influence on what is rendered: each is
 * exchanged for every other digit and the mask rendered again. That finds what no look at the text of a
 * mask could: digits taken one by one, reordered, or computed with.
 */
const dependsOnMiddle = (
  render: Render,
  data: Json,
  number: string,
  replace: (data: Json, number: string) => Json,
): boolean => {
  const shown = JSON.stringify(render(data))
  for (let at = firstDigits; at < number.length - lastDigits; at++)
    for (const digit of '0123456789') {
      if (digit === number[at]) continue
      const other = number.slice(0, at) + digit + number.slice(at + 1)
      if (JSON.stringify(render(replace(data, other))) !== shown) return true
    }
  return false
}

const leafTexts = (value: Json | undefined): string[] => {
  if (value === undefined || value === null) return []
  if (Array.isArray(value)) return value.flatMap(leafTexts)
  if (typeof value === 'object') return Object.values(value).flatMap(leafTexts)
  return [String(value)]
}
