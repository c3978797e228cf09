/**
 * A number that doubles cannot hold, such as 12345678901234567890 or 1e400, as the vault has it. `BigInt(number.text)` or a decimal
 * library reads it; sent back, it is the same number.
 */
export class ExactNumber {
  readonly text: string

  constructor(text: string) {
    if (!numberPattern.test(text)) throw new TypeError('an ExactNumber is made of the text of a JSON number')
    this.text = text
  }

  toString(): string {
    return this.text
  }

  /** For `JSON.stringify` elsewhere: the number where the runtime can write one (`JSON.rawJSON`), its digits as a string where not. */
  toJSON(): unknown {
    return (JSON as { rawJSON?: (text: string) => unknown }).rawJSON?.(this.text) ?? this.text
  }
}

const numberPattern = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

// Neither `JSON.rawJSON` nor the source text of a reviver is everywhere, so all runtimes go one way: a number that a double cannot hold
// travels through `JSON` as a string that begins with a mark. The mark is drawn anew each time, so no text that was sent can be one.

/** No number of up to 15 characters without an exponent is beyond a double. A card number in a string is looked at, and left alone. */
const mayHoldExactNumbers = /[\d.]{16}|\d[eE][+-]?\d/
const stringsAndNumbers = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g

export const parse = (text: string): unknown => {
  if (!mayHoldExactNumbers.test(text)) return JSON.parse(text)
  const mark = newMark()
  let isMarked = false
  const marked = text.replace(stringsAndNumbers, found => {
    if (found[0] === '"' || doubleHolds(found)) return found
    isMarked = true
    return `"${mark}${found}"`
  })
  if (!isMarked) return JSON.parse(text)
  return JSON.parse(marked, (_, value) =>
    typeof value === 'string' && value.startsWith(mark) ? new ExactNumber(value.slice(mark.length)) : value,
  )
}

/** `undefined` stands for no body. A bigint becomes a number. */
export const stringify = (value: unknown): string | undefined => {
  const mark = newMark()
  let isMarked = false
  const marked = JSON.stringify(value, function (this: Record<string, unknown>, key, shown) {
    // `shown` is what `toJSON` made of it.
    const own = this[key]
    if (!(own instanceof ExactNumber) && typeof own !== 'bigint') return shown
    isMarked = true
    return mark + own
  })
  return isMarked ? marked.replace(new RegExp(`"${mark}([^"]*)"`, 'g'), '$1') : marked
}

const newMark = (): string => `exact-${randomHex()}:`

/** Also where there is no `crypto.randomUUID`: browsers have it on secure pages only. */
export const randomHex = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, '0')).join('')

const doubleHolds = (source: string): boolean => {
  const double = Number(source)
  return source === String(double) || (Number.isFinite(double) && decimal(source) === decimal(String(double)))
}

/** One text per number: sign, digits without zeros around them, exponent. */
const decimal = (text: string): string => {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,999}))?$/.exec(text) ?? []
  const digits = (whole + fraction).replace(/^0+/, '')
  let end = digits.length
  while (digits[end - 1] === '0') end--
  if (end === 0) return whole === '' ? text : '0'
  return `${sign}${digits.slice(0, end)}e${BigInt(exponent) + BigInt(digits.length - end - fraction.length)}`
}
