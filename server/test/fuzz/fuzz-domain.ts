import assert from 'node:assert/strict'
import { isApiKey } from '../../src/crypto/api-key.ts'
import { type Issue, VaultError } from '../../src/domain/errors.ts'
import { compileExpression } from '../../src/domain/expressions/expression.ts'
import { ExpressionError } from '../../src/domain/expressions/expression-error.ts'
import { type Json, stringify } from '../../src/domain/json/json.ts'
import { mergePatch } from '../../src/domain/json/merge-patch.ts'
import { parseJson } from '../../src/domain/json/parse-json.ts'
import { parseQuery } from '../../src/domain/search/parser.ts'
import { planSearch } from '../../src/domain/search/plan.ts'
import { formatExpiry, parseDateTime } from '../../src/domain/time/date-time.ts'
import { ancestors, covers, parseContainers } from '../../src/domain/tokens/containers.ts'
import { fc } from '../rig/properties.ts'
import type { FuzzOptions } from './fuzz-http.ts'
import { jsonTexts, junk, texts } from './values.ts'

/** Pieces of texts that have a grammar, glued together. */
const glued = (...pieces: readonly string[]): fc.Arbitrary<string> =>
  fc
    .array(
      fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...pieces) }, { weight: 1, arbitrary: texts() }),
      {
        maxLength: 12,
      },
    )
    .map(parts => parts.join(''))

const refuses = (work: () => unknown, isRefusal: (error: unknown) => boolean): void => {
  try {
    work()
  } catch (error) {
    assert.ok(isRefusal(error), `${error instanceof Error ? error.stack : error}`)
  }
}
const isRefused = (error: unknown): boolean =>
  error instanceof VaultError && error.code === 'invalidRequest' && error.issues.length > 0

/** What each parser promises, whatever it is given. */
const promises: Record<string, () => fc.IProperty<unknown[]>> = {
  'a search query is planned or refused': () =>
    fc.property(
      glued(
        'type:',
        'card',
        ' AND ',
        ' OR ',
        'NOT ',
        '(',
        ')',
        '"',
        'data:',
        '[',
        ' TO ',
        ']',
        '*',
        '-',
        '!',
      ),
      fc.boolean(),
      (text, mayRedact) => refuses(() => planSearch(parseQuery(text), { mayRedact }), isRefused),
    ),
  'an expression is compiled and rendered, or refused': () =>
    fc.property(
      glued(
        '{{ ',
        ' }}',
        'data',
        '.a',
        '[0]',
        ' | ',
        'last4',
        'reveal_last: ',
        '4',
        ', ',
        "'x'",
        'split: ""',
      ),
      fc.constantFrom('mask', 'fingerprint', 'index', 'id'),
      junk(),
      (text, use, data) =>
        refuses(
          () => compileExpression(text, use as 'mask').render({ data: data as Json, metadata: {} }, () => 0),
          error => error instanceof ExpressionError,
        ),
    ),
  'a merge patch follows RFC 7386': () =>
    fc.property(junk(), junk(), (target, patch) => {
      const before = stringify(target as Json)
      assert.deepEqual(mergePatch(target as Json, patch as Json), rfc7386(target, patch))
      assert.equal(stringify(target as Json), before, 'the target is left alone')
    }),
  'a date that was read and formatted reads the same again': () =>
    fc.property(glued('1', '12', '/', '2030', ' ', ':', 'PM', 'AM', '+', '-', 'T', 'Z', '.5', '30'), text => {
      const expiry = parseDateTime(text)
      if (expiry === undefined) return
      assert.ok(Number.isSafeInteger(expiry.at))
      assert.deepEqual(parseDateTime(formatExpiry(expiry)), expiry)
    }),
  'an accepted container is covered by all above it, and not by one beside it': () =>
    fc.property(glued('/', 'a', 'B', '_', '-', '..', 'é', ' '), text => {
      const issues: Issue[] = []
      const [parsed] = parseContainers([text], 'containers', issues)
      if (issues.length > 0 || parsed === undefined) return
      assert.match(parsed, /^\/([a-z0-9_-]+\/)+$/)
      for (const above of ancestors(parsed)) assert.ok(covers(above, parsed))
      assert.ok(!covers(`${parsed.slice(0, -1)}x/`, parsed))
    }),
  'any text either is a key or is not': () =>
    fc.property(glued('key_', 'prv_', 'pub_', 'mgt_', '1', 'z', 'I', '0', '_'), text =>
      assert.equal(typeof isApiKey(text), 'boolean'),
    ),
  'bytes are read as JSON or refused': () =>
    fc.property(jsonTexts(junk()), text => refuses(() => parseJson(Buffer.from(text)), isRefused)),
}

/** RFC 7386, section 2, as written there. */
const rfc7386 = (target: unknown, patch: unknown): unknown => {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch
  const isObject = typeof target === 'object' && target !== null && !Array.isArray(target)
  const merged = new Map<string, unknown>(isObject ? Object.entries(target) : [])
  for (const [name, value] of Object.entries(patch))
    if (value === null) merged.delete(name)
    else merged.set(name, rfc7386(merged.get(name), value))
  return Object.fromEntries(merged)
}

export const domainPromises: readonly string[] = Object.keys(promises)

export const fuzzDomain = (name: string, { seed, runs }: FuzzOptions): void => {
  const property = promises[name]
  assert.ok(property)
  fc.assert(property(), { seed, numRuns: runs })
}
