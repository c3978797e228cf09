import { isExactNumber, type Json } from '../json/json.ts'

/** Shorter values would be found everywhere. */
const charactersMin = 6
/** Every value has at least as many bytes, so what it begins with is looked for first. */
const startBytes = 6
const asterisk = 0x2a

/** The texts and numbers in a token's data that an answer must not show (U14). */
export const guardedValues = (data: Json): string[] => {
  if (data === null || typeof data === 'boolean') return []
  if (typeof data === 'string') return longEnough(data)
  if (typeof data === 'number') return longEnough(String(data))
  if (isExactNumber(data)) return longEnough(data.rawJSON)
  return Object.values(data).flatMap(guardedValues)
}

/** A character is at most two units, so most texts need not be counted. */
const longEnough = (text: string): string[] =>
  text.length >= 2 * charactersMin || [...text].length >= charactersMin ? [text] : []

/** How an answer reads: the bytes that it stands for, and from where to where in the answer each of them comes. */
type Reading = {
  readonly bytes: Uint8Array
  /** Undefined where the bytes are those of the answer itself. */
  readonly origins: Origins | undefined
  readonly length: number
}
type Origins = { readonly starts: Uint32Array; readonly ends: Uint32Array }

/**
 * Masks what an answer repeats of the values that a request used: as it is, escaped for JSON or for URLs, and digits also in groups. It
 * is a net against accidents: a destination that wants to send a value past it can (SECURITY.md).
 */
export class EchoGuard {
  readonly #plain = new GuardedValues()
  readonly #digits = new GuardedValues()
  /** Whether some value is written in groups itself, and must be found without them too. */
  #hasGroups = false

  constructor(values: Iterable<string> = []) {
    for (const value of values) this.add(value)
  }

  /** There may be very many: whoever adds them lets others by. */
  add(value: string): void {
    if (longEnough(value).length === 0) return
    this.#plain.add(Buffer.from(value))
    const digits = value.replace(/[ -]/g, '')
    if (digits.length < charactersMin || !/^[0-9]+$/.test(digits)) return
    this.#digits.add(Buffer.from(digits))
    if (digits !== value) this.#hasGroups = true
  }

  get isIdle(): boolean {
    return this.#plain.isEmpty
  }

  /** Masks in place, at equal length, and returns whether there was anything to mask. Yields now and then: an answer may be long. */
  *mask(answer: Buffer): Generator<void, boolean> {
    if (this.isIdle) return false
    const found: [start: number, end: number][] = []
    for (const read of [asItIs, withoutJsonEscapes, withoutPercentEscapes]) {
      const reading = read(answer)
      if (reading === undefined) continue
      yield* this.#plain.search(reading, found)
      if (this.#digits.isEmpty) continue
      const joined = ungrouped(reading)
      if (joined !== reading || this.#hasGroups) yield* this.#digits.search(joined, found)
    }
    for (const [start, end] of found) answer.fill(asterisk, start, end)
    return found.length > 0
  }

  /** The same for the values of headers, which are short. Between them are line breaks, which none of them can have. */
  maskHeaders(values: readonly string[]): readonly string[] {
    if (this.isIdle) return values
    const bytes = Buffer.from(values.join('\n'), 'latin1')
    const masking = this.mask(bytes)
    let step = masking.next()
    while (step.done !== true) step = masking.next()
    if (!step.value) return values
    let start = 0
    return values.map(({ length }) => {
      const value = bytes.toString('latin1', start, start + length)
      start += length + 1
      return value
    })
  }
}

/** Values that begin alike: in order, and of each the longest other one that it begins with. */
type Alike = { readonly values: Buffer[]; readonly within: Int32Array }

/** Small, because each request has its own: two bytes may share a place with two others. */
const beginnings = 1 << 12
const placeOf = (first: number | undefined, second: number | undefined): number =>
  (((first ?? 0) << 4) ^ (second ?? 0)) & (beginnings - 1)
const noBeginnings = new Uint8Array(0)

/** As much of a long value counts as the value: an answer may repeat it in part. */
const longBytes = 64

/**
 * Values to look for, all in one pass. The time it takes grows with the length of the answer and hardly with the number of values,
 * whatever these are: who chooses them must not choose how long others wait.
 */
class GuardedValues {
  readonly #byStart = new Map<number, Buffer[]>()
  readonly #sorted = new Map<number, Alike>()
  /** Whether anything begins with two bytes of this place. */
  #begins = noBeginnings

  get isEmpty(): boolean {
    return this.#byStart.size === 0
  }

  add(value: Buffer): void {
    if (this.isEmpty) this.#begins = new Uint8Array(beginnings)
    const key = startOf(value, 0)
    const alike = this.#byStart.get(key)
    if (alike === undefined) this.#byStart.set(key, [value])
    else alike.push(value)
    this.#begins[placeOf(value[0], value[1])] = 1
  }

  *search({ bytes, origins, length }: Reading, found: [number, number][]): Generator<void> {
    const begins = this.#begins
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, length)
    for (let at = 0, pause = pauseBytes; at + startBytes <= length; at++) {
      if (at >= pause) {
        pause = at + pauseBytes
        yield
      }
      if (begins[placeOf(bytes[at], bytes[at + 1])] === 0) continue
      const key = startOf(bytes, at)
      if (!this.#byStart.has(key)) continue
      const matched = lengthOfMatch(this.#sorted.get(key) ?? (yield* this.#sort(key)), text, at)
      pause -= comparingBytes
      if (matched === 0) continue
      const start = origins?.starts[at] ?? at
      const end = origins?.ends[at + matched - 1] ?? at + matched
      const last = found.at(-1)
      if (last !== undefined && last[0] <= start && start <= last[1]) last[1] = Math.max(last[1], end)
      else found.push([start, end])
      // The next one may begin before the end of this one.
      if (matched >= longBytes) at += matched - longBytes
    }
  }

  *#sort(key: number): Generator<void, Alike> {
    const alike = yield* inOrder(this.#byStart.get(key) ?? [])
    this.#sorted.set(key, alike)
    return alike
  }
}

/** How much of an answer is searched before others get a turn; comparing values at a place takes as long as so many bytes. */
const pauseBytes = 1 << 16
const comparingBytes = 512
/** How many values are sorted before that. */
const pauseValues = 1_000

function* inOrder(unsorted: readonly Buffer[]): Generator<void, Alike> {
  let runs: Buffer[][] = []
  for (let at = 0; at < unsorted.length; at += pauseValues) {
    runs.push(unsorted.slice(at, at + pauseValues).sort(Buffer.compare))
    yield
  }
  while (runs.length > 1) {
    const longer: Buffer[][] = []
    for (let at = 0; at < runs.length; at += 2) longer.push(yield* merged(runs[at] ?? [], runs[at + 1] ?? []))
    runs = longer
  }
  const [values = []] = runs
  const within = new Int32Array(values.length)
  for (const [at, value] of values.entries()) {
    if (at % pauseValues === 0) yield
    let other = at - 1
    while (other >= 0 && !startsWith(value, values[other])) other = within[other] ?? -1
    within[at] = other
  }
  return { values, within }
}

function* merged(one: readonly Buffer[], other: readonly Buffer[]): Generator<void, Buffer[]> {
  const all: Buffer[] = []
  let [ofOne, ofOther] = [0, 0]
  while (ofOne < one.length || ofOther < other.length) {
    if (all.length % pauseValues === 0) yield
    const [mine, theirs] = [one[ofOne], other[ofOther]]
    const isMine = mine !== undefined && (theirs === undefined || mine.compare(theirs) <= 0)
    const next = isMine ? one[ofOne++] : other[ofOther++]
    if (next !== undefined) all.push(next)
  }
  return all
}

const startsWith = (value: Buffer, start: Buffer | undefined): boolean =>
  start !== undefined && start.length <= value.length && start.compare(value, 0, start.length) === 0

/** How much of the text, from here, is one of these values, or a good part of a long one. */
const lengthOfMatch = ({ values, within }: Alike, text: Buffer, at: number): number => {
  // The last value that is not greater than the text: whatever the text begins with is this one, or is within it.
  let [low, high] = [0, values.length]
  while (low < high) {
    const middle = (low + high) >> 1
    const value = values[middle]
    if (value !== undefined && value.compare(text, at, Math.min(text.length, at + value.length)) <= 0)
      low = middle + 1
    else high = middle
  }
  const partly = Math.max(commonBytes(values[low - 1], text, at), commonBytes(values[low], text, at))
  if (partly >= longBytes) return partly
  for (let index = low - 1; index >= 0; index = within[index] ?? -1) {
    const value = values[index]
    if (value !== undefined && commonBytes(value, text, at) === value.length) return value.length
  }
  return 0
}

const commonBytes = (value: Buffer | undefined, text: Buffer, at: number): number => {
  if (value === undefined) return 0
  const most = Math.min(value.length, text.length - at)
  let common = 0
  while (common < most && value[common] === text[at + common]) common++
  return common
}

/** The first six bytes, as a number. */
const startOf = (bytes: Uint8Array, at: number): number => {
  let start = 0
  for (let next = at; next < at + startBytes; next++) start = start * 256 + (bytes[next] ?? 0)
  return start
}

type NewReading = Reading & { readonly origins: Origins; length: number }

const newReading = (length: number): NewReading => ({
  bytes: new Uint8Array(length),
  origins: { starts: new Uint32Array(length), ends: new Uint32Array(length) },
  length: 0,
})

/** Adds a byte that comes from this stretch of the answer. */
const push = (reading: NewReading, byte: number, start: number, end: number): void => {
  reading.bytes[reading.length] = byte
  reading.origins.starts[reading.length] = start
  reading.origins.ends[reading.length] = end
  reading.length++
}

const asItIs = (answer: Buffer): Reading => ({ bytes: answer, origins: undefined, length: answer.length })

const backslash = 0x5c
const simpleEscapes: Readonly<Record<string, number>> = { b: 8, f: 12, n: 10, r: 13, t: 9 }

const withoutJsonEscapes = (answer: Buffer): Reading | undefined => {
  if (!answer.includes(backslash)) return undefined
  const reading = newReading(answer.length)
  for (let at = 0; at < answer.length; ) {
    const byte = answer[at] ?? 0
    if (byte !== backslash || at + 1 === answer.length) {
      push(reading, byte, at, at + 1)
      at++
      continue
    }
    const letter = String.fromCharCode(answer[at + 1] ?? 0)
    const code = letter === 'u' ? codeUnit(answer, at) : undefined
    if (code === undefined) {
      push(reading, simpleEscapes[letter] ?? letter.charCodeAt(0), at, at + 2)
      at += 2
      continue
    }
    const low = isHighSurrogate(code) ? codeUnit(answer, at + 6) : undefined
    const isPair = low !== undefined && (low & 0xfc00) === 0xdc00
    const end = at + (isPair ? 12 : 6)
    const character = isPair ? String.fromCharCode(code, low) : String.fromCharCode(code)
    for (const each of Buffer.from(character)) push(reading, each, at, end)
    at = end
  }
  return reading
}

const isHighSurrogate = (code: number): boolean => (code & 0xfc00) === 0xd800

const codeUnit = (answer: Buffer, at: number): number | undefined => {
  if (answer[at] !== backslash || answer[at + 1] !== 0x75) return undefined
  return hexadecimal(answer, at + 2, 4)
}

const hexadecimal = (answer: Buffer, at: number, digits: number): number | undefined => {
  const text = answer.toString('latin1', at, at + digits)
  return text.length === digits && /^[0-9a-f]+$/i.test(text) ? Number.parseInt(text, 16) : undefined
}

const percent = 0x25
const plus = 0x2b
const blank = 0x20

const withoutPercentEscapes = (answer: Buffer): Reading | undefined => {
  if (!answer.includes(percent) && !answer.includes(plus)) return undefined
  const reading = newReading(answer.length)
  for (let at = 0; at < answer.length; ) {
    const byte = answer[at] ?? 0
    const escaped = byte === percent ? hexadecimal(answer, at + 1, 2) : undefined
    const end = escaped === undefined ? at + 1 : at + 3
    push(reading, escaped ?? (byte === plus ? blank : byte), at, end)
    at = end
  }
  return reading
}

const hyphen = 0x2d
const isDigit = (byte: number): boolean => byte >= 0x30 && byte <= 0x39
/** `4242 - 4242` is still one number. */
const separatorsMax = 3

/** Where the number goes on that has a digit here and separators behind it. Undefined if there are none, or it ends with them. */
const nextGroup = ({ bytes, length }: Reading, at: number): number | undefined => {
  if (!isDigit(bytes[at] ?? 0)) return undefined
  let next = at + 1
  while (next < length && next - at <= separatorsMax && (bytes[next] === blank || bytes[next] === hyphen))
    next++
  return next > at + 1 && next < length && isDigit(bytes[next] ?? 0) ? next : undefined
}

const isGrouped = (reading: Reading): boolean => {
  for (let at = 0; at < reading.length; at++) if (nextGroup(reading, at) !== undefined) return true
  return false
}

/** The same without the blanks and hyphens between digits. */
const ungrouped = (reading: Reading): Reading => {
  if (!isGrouped(reading)) return reading
  const { bytes, origins, length } = reading
  const joined = newReading(length)
  for (let at = 0; at < length; at = nextGroup(reading, at) ?? at + 1)
    push(joined, bytes[at] ?? 0, origins?.starts[at] ?? at, origins?.ends[at] ?? at + 1)
  return joined
}
