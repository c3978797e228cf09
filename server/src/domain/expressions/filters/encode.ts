import { createHmac } from 'node:crypto'
import type { Json } from '../../json/json.ts'
import { type Dialect, prices, type Run } from '../budget.ts'
import { ExpressionError } from '../expression-error.ts'
import { textOf } from '../values.ts'
import { filter, type Parameter, text } from './filter.ts'

/** By the names that payment providers write: `sha-256` (U2). */
const algorithms = new Map([
  ['sha-256', 'sha256'],
  ['sha-384', 'sha384'],
  ['sha-512', 'sha512'],
])

const algorithm: Parameter<string> = {
  read: value => {
    const name = typeof value === 'string' ? algorithms.get(value.toLowerCase()) : undefined
    if (name === undefined) throw new ExpressionError(`one of ${[...algorithms.keys()].join(', ')} is needed`)
    return name
  },
}

const key: Parameter<string> = {
  read: (value, run) => {
    const read = wellFormed(text.read(value, run))
    if (read === '') throw new ExpressionError('a key is needed')
    return read
  },
}

/** What has no UTF-8 would become the bytes of another text. */
const wellFormed = (input: string): string => {
  if (!input.isWellFormed()) throw new ExpressionError('well-formed text is needed')
  return input
}

const stepsPerDigest = 6_000
const stepsPerHashedCharacter = 10
const stepsPerEncodedCharacter = 8

const inUtf8 = (input: Json, run: Run, stepsPerCharacter: number): string => {
  const read = wellFormed(textOf(input, run))
  run.budget.charge(prices.copiedCharacter + read.length * stepsPerCharacter)
  return read
}

const payloads: readonly Dialect[] = ['detokenize', 'proxy', 'transform']

const encoder = (encode: (bytes: Buffer) => string) =>
  filter([], {
    onlyIn: payloads,
    apply: (input, run) => encode(Buffer.from(inUtf8(input, run, stepsPerEncodedCharacter), 'utf8')),
    applyToBytes: bytes => encode(Buffer.from(bytes, 'latin1')),
  })

/** U2: for what other services expect in a header or a signature. They take text, as UTF-8, or the bytes of `hmac`. */
export const encodeFilters = {
  hmac: filter([algorithm, key], {
    // A caller of a proxy could compare what comes back with guesses.
    onlyIn: ['detokenize', 'transform'],
    makesBytes: true,
    apply: (input, run, name, secret) => {
      run.budget.charge(stepsPerDigest)
      return createHmac(name, secret)
        .update(inUtf8(input, run, stepsPerHashedCharacter))
        .digest('latin1')
    },
  }),
  to_base64: encoder(bytes => bytes.toString('base64')),
  to_base16: encoder(bytes => bytes.toString('hex').toUpperCase()),
}
