import { dayMs } from '../time/instant.ts'
import { ExpressionError } from './expression-error.ts'

/** A parsed format: each piece writes its part of the date. All fields are UTC. */
export type Format = readonly ((date: Date) => string)[]

type Field = {
  readonly write: (date: Date) => string | number
  readonly width?: number
  readonly fill?: string
}

const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
const months = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
]
const dayName = (date: Date): string => days[date.getUTCDay()] ?? ''
const monthName = (date: Date): string => months[date.getUTCMonth()] ?? ''
const hour12 = (date: Date): number => date.getUTCHours() % 12 || 12
const amPm = (date: Date): string => (date.getUTCHours() < 12 ? 'AM' : 'PM')
const dayOfYear = (date: Date): number => {
  const newYear = new Date(date)
  newYear.setUTCMonth(0, 1)
  return Math.round((date.getTime() - newYear.getTime()) / dayMs) + 1
}

const fields = new Map<string, Field>([
  ['Y', { write: date => date.getUTCFullYear(), width: 4 }],
  ['C', { write: date => Math.floor(date.getUTCFullYear() / 100), width: 2 }],
  ['y', { write: date => ((date.getUTCFullYear() % 100) + 100) % 100, width: 2 }],
  ['m', { write: date => date.getUTCMonth() + 1, width: 2 }],
  ['B', { write: monthName }],
  ['b', { write: date => monthName(date).slice(0, 3) }],
  ['h', { write: date => monthName(date).slice(0, 3) }],
  ['d', { write: date => date.getUTCDate(), width: 2 }],
  ['e', { write: date => date.getUTCDate(), width: 2, fill: ' ' }],
  ['j', { write: dayOfYear, width: 3 }],
  ['A', { write: dayName }],
  ['a', { write: date => dayName(date).slice(0, 3) }],
  ['u', { write: date => date.getUTCDay() || 7 }],
  ['w', { write: date => date.getUTCDay() }],
  ['H', { write: date => date.getUTCHours(), width: 2 }],
  ['k', { write: date => date.getUTCHours(), width: 2, fill: ' ' }],
  ['I', { write: hour12, width: 2 }],
  ['l', { write: hour12, width: 2, fill: ' ' }],
  ['M', { write: date => date.getUTCMinutes(), width: 2 }],
  ['S', { write: date => date.getUTCSeconds(), width: 2 }],
  ['L', { write: date => date.getUTCMilliseconds(), width: 3 }],
  ['p', { write: amPm }],
  ['P', { write: date => amPm(date).toLowerCase() }],
  ['s', { write: date => Math.floor(date.getTime() / 1_000) }],
  ['Z', { write: () => 'UTC' }],
  ['z', { write: () => '+0000' }],
  ['n', { write: () => '\n' }],
  ['t', { write: () => '\t' }],
  ['%', { write: () => '%' }],
])

const combined = new Map([
  ['F', '%Y-%m-%d'],
  ['T', '%H:%M:%S'],
  ['R', '%H:%M'],
  ['D', '%m/%d/%y'],
])

// Lists the known fields instead of quoting the one that was sent: a format may come from the data (C2).
const formatNeeded = `a format of ${[...fields.keys(), ...combined.keys()].map(letter => `%${letter}`).join(' ')} is needed`

/**
 * The fields above, each with at most one flag: `-` does not pad, `_` pads with blanks, `0` with zeros, `^` writes
 * capitals. Widths are not supported: `%999999999d` would be a bomb. Other letters are refused.
 */
export const parseFormat = (format: string): Format => {
  const pieces: Format[number][] = []
  let position = 0
  while (position < format.length) {
    const percent = format.indexOf('%', position)
    const end = percent === -1 ? format.length : percent
    const literal = format.slice(position, end)
    if (literal !== '') pieces.push(() => literal)
    if (percent === -1) break
    const flag = '-_0^'.includes(format[percent + 1] ?? '?') ? (format[percent + 1] ?? '') : ''
    const letter = format[percent + 1 + flag.length] ?? ''
    pieces.push(...fieldPieces(letter, flag))
    position = percent + 2 + flag.length
  }
  return pieces
}

const fieldPieces = (letter: string, flag: string): Format => {
  const parts = flag === '' ? combined.get(letter) : undefined
  if (parts !== undefined) return parseFormat(parts)
  const field = fields.get(letter)
  if (field === undefined) throw new ExpressionError(formatNeeded)
  const fill = flag === '_' ? ' ' : flag === '0' ? '0' : (field.fill ?? '0')
  const width = flag === '-' ? 0 : (field.width ?? 0)
  const write = (date: Date): string => padded(String(field.write(date)), width, fill)
  return [flag === '^' ? date => write(date).toUpperCase() : write]
}

/** A negative year is padded after its sign. */
const padded = (text: string, width: number, fill: string): string =>
  fill === '0' && text.startsWith('-')
    ? `-${text.slice(1).padStart(width - 1, fill)}`
    : text.padStart(width, fill)
