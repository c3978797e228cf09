import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { VaultError } from '../../../src/domain/errors.ts'
import { CsvMappingError, readMapping } from '../../../src/domain/moving/csv-mapping.ts'
import type { FormName } from '../../../src/domain/moving/form-name.ts'
import type { RawRow } from '../../../src/domain/moving/raw-row.ts'
import { rowForm } from '../../../src/domain/moving/row-form.ts'
import { fc } from '../../rig/properties.ts'

const mapping = readMapping({
  type: { value: 'token' },
  data: 'secret',
  id: 'ref',
  'metadata.customer': 'customer',
  containers: 'group',
  deduplicate_token: 'once',
})

/** The bodies of a file that arrives in pieces of this size; a fault in place of those that have none. */
const bodiesOf = (form: FormName, file: string | Uint8Array, pieceBytes = 1_000): unknown[] => {
  const bytes = Buffer.from(file)
  const { rows, header, body } = rowForm(form, { mapping })
  const found: RawRow[] = []
  for (let at = 0; at < bytes.length; at += pieceBytes)
    found.push(...rows.push(bytes.subarray(at, at + pieceBytes)))
  found.push(...rows.end())
  if (header !== undefined) {
    const [first] = found.splice(0, 1)
    if (first !== undefined) header(first)
  }
  const ends = found.map(({ end }) => end)
  assert.deepEqual(
    ends,
    ends.toSorted((a, b) => a - b),
  )
  assert.ok((ends.at(-1) ?? 0) <= bytes.length)
  return found.map(row => {
    try {
      return [row.line, body(row)]
    } catch (error) {
      assert.ok(error instanceof VaultError)
      return [row.line, ...error.issues.map(({ path, message }) => `${path}: ${message}`)]
    }
  })
}

const cases: { name: string; form: FormName; file: string | Uint8Array; rows: unknown[] }[] = [
  {
    name: 'lines with a byte order mark, CRLF, blank lines, and no end of the last one',
    form: 'ndjson',
    file: '\ufeff{"a":1}\r\n\r\n  \n{"b":[2]}',
    rows: [
      [1, { a: 1 }],
      [4, { b: [2] }],
    ],
  },
  { name: 'an empty file', form: 'ndjson', file: '', rows: [] },
  {
    name: 'bytes that are no UTF-8',
    form: 'ndjson',
    file: Buffer.from([0x22, 0xff, 0x22, 0x0a, 0x31]),
    rows: [
      [1, '$: the body is not valid UTF-8'],
      [2, 1],
    ],
  },
  {
    name: 'cells with quotes, separators and line ends, empty ones left out',
    form: 'csv',
    file: 'ref,secret,customer,group,once\r\nfirst,"a ""b"", c\r\nd",8,/a/,true\r\n,x,,,\n\n,"",,,no\n',
    rows: [
      [
        2,
        {
          type: 'token',
          data: 'a "b", c\r\nd',
          id: 'first',
          metadata: { customer: '8' },
          containers: ['/a/'],
          deduplicate_token: true,
        },
      ],
      [4, { type: 'token', data: 'x' }],
      [6, { type: 'token', deduplicate_token: 'no' }],
    ],
  },
  {
    name: 'rows that break the rules, each a fault of its own',
    form: 'csv',
    file: 'secret,ref,customer,group,once\na"b,1,,,\n"a"b,2,,,\n"a",3\nok,4,,,\n"open,5,,,',
    rows: [
      [2, '$: has a quote where none may be'],
      [3, '$: has a quote where none may be'],
      [4, '$: has 2 cells where the header has 5'],
      [5, { type: 'token', data: 'ok', id: '4' }],
      [6, '$: has a quote that is not closed'],
    ],
  },
  {
    name: 'pages of a list, tokens one by one and in a list, without what that service decides',
    form: 'basis-theory',
    file: `{"pagination":{"total_items":2,"note":"]}"},
      "data":[{"id":"a","type":"token","tenant_id":"t","data":{"x":"[\\"}"},"fingerprint":"f"},
              {"id":"b","type":"token","data":[1]}],"more":{"data":[3]}}
      {"type":"token","data":["c"],"created_at":"now"} [{"type":"token","data":"d"}]`,
    rows: [
      [2, { id: 'a', type: 'token', data: { x: '["}' } }],
      [3, { id: 'b', type: 'token', data: [1] }],
      [4, { type: 'token', data: ['c'] }],
      [4, { type: 'token', data: 'd' }],
    ],
  },
  {
    name: 'what is no JSON becomes rows that do not parse',
    form: 'basis-theory',
    file: '} nonsense [1, {"type":"token","data":1}] {"cut":"of',
    rows: [
      [1, '$: the body is not valid JSON (line 1 column 1)'],
      [1, '$: the body is not valid JSON (line 1 column 2)'],
      [1, '$: must be a token, or a page of tokens'],
      [1, { type: 'token', data: 1 }],
      [1, '$: is cut off: the JSON does not end'],
    ],
  },
  {
    name: 'secrets of both versions of the engine, one of them deleted',
    form: 'vault-kv',
    file: `{"request_id":"r","path":"secret/db","data":{"data":{"user":"u"},"metadata":{"version":3,"custom_metadata":{"team":"x"}}}}
{"data":{"user":"v"}}
{"data":{"data":null,"metadata":{"version":2,"custom_metadata":null}}}
{"errors":[]}`,
    rows: [
      [
        1,
        {
          type: 'token',
          data: { user: 'u' },
          metadata: { team: 'x', vault_path: 'secret/db', vault_version: '3' },
        },
      ],
      [2, { type: 'token', data: { user: 'v' } }],
      [3, 'data.data: is missing: this version of the secret was deleted'],
      [4, 'data: must be an object, as vault kv get -format=json prints it'],
    ],
  },
]

describe('rows of a file', () => {
  for (const { name, form, file, rows } of cases)
    test(`${form}: ${name}, in whatever pieces it arrives`, () => {
      for (const pieceBytes of [1_000, 1, 2, 7]) assert.deepEqual(bodiesOf(form, file, pieceBytes), rows)
    })

  for (const form of ['ndjson', 'csv', 'basis-theory', 'vault-kv'] as const)
    test(`${form}: pieces of any size lead to the same rows, whatever the bytes are`, () =>
      fc.assert(
        fc.property(
          fc.array(
            fc.constantFrom('"', '\n', '\r', ',', '{', '}', '[', ']', ':', '\\', 'a', ' ', '"data":', 'é'),
          ),
          fc.integer({ min: 1, max: 9 }),
          (parts, pieceBytes) => {
            const header = form === 'csv' ? 'ref,secret,customer,group,once\n' : ''
            const file = Buffer.from(header + parts.join(''))
            assert.deepEqual(bodiesOf(form, file, pieceBytes), bodiesOf(form, file))
          },
        ),
        { numRuns: 300 },
      ))

  for (const form of ['ndjson', 'csv', 'basis-theory'] as const)
    test(`${form}: a row over the limit of a body is refused, holds no memory, and the next one is read`, () => {
      const { rows, header } = rowForm(form, { mapping })
      const start = form === 'csv' ? 'ref,secret,customer,group,once\n' : ''
      const piece = Buffer.alloc(1 << 16, 'x')
      const found: RawRow[] = [...rows.push(Buffer.from(start))]
      const [first] = found.splice(0, 1)
      if (first !== undefined) header?.(first)
      for (let at = 0; at < 64; at++) found.push(...rows.push(piece))
      found.push(...rows.push(Buffer.from('\n"next"')), ...rows.end())
      assert.deepEqual(
        found.map(row => ('fault' in row ? row.fault : 'bytes' in row || 'cells' in row)),
        ['is longer than 1048576 bytes', true],
      )
    })

  const wrongMappings: [name: string, mapping: Parameters<typeof readMapping>[0], says: RegExp][] = [
    ['no object', [], /must be a JSON object/],
    ['no type', { data: 'a' }, /lacks type/],
    ['a field that is none', { type: 'a', data: 'b', meta: 'c' }, /names meta, which is no field/],
    ['a part of a field without any', { type: 'a', data: 'b', 'id.x': 'c' }, /names id\.x/],
    ['a column that is no name', { type: 'a', data: 5 }, /must be a column's name/],
  ]
  for (const [name, wrong, says] of wrongMappings)
    test(`a mapping with ${name} is refused`, () => {
      assert.throws(
        () => readMapping(wrong),
        error => error instanceof CsvMappingError && says.test(error.message),
      )
    })

  test('a header without a mapped column, or with two of it, is refused by the name that the mapping has', () => {
    for (const [header, says] of [
      ['ref,customer,group,once', /no column "secret"/],
      ['secret,secret,ref,customer,group,once', /several columns "secret"/],
    ] as const)
      assert.throws(() => bodiesOf('csv', `${header}\n`), says)
  })
})
