import { anyCharacter } from '../rig/any-character.ts'
import { fc } from '../rig/properties.ts'

/** Texts that have broken parsers before, as well as plain ones and noise. */
export const texts = (): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...plausible) },
    { weight: 3, arbitrary: fc.constantFrom(...evil) },
    { weight: 2, arbitrary: fc.string({ unit: anyCharacter, maxLength: 40 }) },
    { weight: 1, arbitrary: fc.integer({ min: 100, max: 70_000 }).map(length => 'a'.repeat(length)) },
  )

const plausible = [
  'token',
  'card',
  'bank',
  'social_security_number',
  'fuzz-1',
  'fuzz-2',
  '/a/',
  '/pci/high/',
  '/',
  '{{ data }}',
  '{{ data | last4 }}',
  '{{ data.number | reveal_last: 4 }}',
  '{{ data | stringify }}',
  '4242424242424242',
  '021000021',
  '2031-01-01',
  '12/31/2030 11:59:59 PM +02:00',
  'mask',
  'reveal',
  'private',
  'token:read',
  'type:card AND metadata.a:b',
  'created_at:[2026-01-01 TO *]',
  'true',
]
const evil = [
  '',
  ' ',
  '\0',
  '\ud800',
  '\udfff\ud800',
  'é',
  'e\u0301',
  '😀'.repeat(20),
  '\u202e',
  '\r\nX: y',
  '__proto__',
  'constructor',
  'hasOwnProperty',
  '../../etc/passwd',
  '%00',
  '%2F..%2f',
  '%',
  "' OR 1=1 --",
  '{{',
  '}}',
  '{{{{ data }}}}',
  '{{ data | split: "" | join: data }}',
  '{{ data | date: "%" }}',
  `{{ data["${'a'.repeat(300)}"] }}`,
  '((((((((((((((((((((',
  'NOT NOT NOT type:card',
  'a:"',
  '[a TO',
  '9'.repeat(400),
  '-0',
  '1e309',
  'NaN',
  '0000-00-00',
  '9999-12-31T23:59:60.999999999+99:99',
  '02/30/2030',
]

/** Any JSON, including what a parser may stumble over. */
export const junk = (): fc.Arbitrary<unknown> =>
  fc.oneof(
    texts(),
    fc.jsonValue({ maxDepth: 4 }),
    fc.constantFrom<unknown>(null, true, 0, -0, -1, 1e308, 5e-324, 2 ** 53, [], {}, [[]], [null]),
    fc.integer({ min: 1, max: 60 }).map(deep),
    fc.integer({ min: 50, max: 1_200 }).map(length => Array.from({ length }, (_, index) => index)),
    fc
      .integer({ min: 20, max: 120 })
      .map(keys => Object.fromEntries(Array.from({ length: keys }, (_, index) => [`k${index}`, 'v']))),
  )

const deep = (levels: number): unknown => {
  let value: unknown = 'deep'
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { a: value }
  return value
}

/** JSON as text, in spellings that `JSON.stringify` does not produce. */
export const jsonTexts = (value: fc.Arbitrary<unknown>): fc.Arbitrary<string | Uint8Array> =>
  fc
    .tuple(value, fc.oneof(fc.constant(plain), fc.constantFrom(...spellings)))
    .map(([one, spell]) => spell(JSON.stringify(one) ?? 'null'))

type Spell = (text: string) => string | Uint8Array
const plain: Spell = text => text
const spellings: readonly Spell[] = [
  text => ` \n\t${text}\r\n `,
  text => `\ufeff${text}`,
  text => text.slice(0, -1),
  text => `${text}${text}`,
  text => text.replace('{', '{"type":"token","type":"card",'),
  text => text.replace(/"([a-z])/g, (_, letter: string) => `"\\u00${letter.charCodeAt(0).toString(16)}`),
  text => text.replace(/:(?=")/, ':1e999,"x":'),
  text => text.replaceAll('"', "'"),
  text => Buffer.from(text, 'utf16le'),
  text => Buffer.concat([Buffer.from(text.slice(0, -1)), Buffer.from([0xc3, 0x28]), Buffer.from('}')]),
  () => '',
  () => '\0',
  () => '['.repeat(100_000),
]
