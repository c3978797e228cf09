import type { Issue } from '../errors.ts'
import { getOwn } from '../json/json.ts'
import { dateForms } from '../time/date-time.ts'
import type { Instant, InstantRange } from '../time/instant.ts'
import { covers, parseContainerOrRoot } from '../tokens/containers.ts'
import {
  dataTerm,
  directContainerTerm,
  fingerprintTerm,
  metadataTerm,
  termsUnder,
  typeTerm,
} from '../tokens/index-terms.ts'
import type { Token } from '../tokens/token.ts'
import { tokenType, unknownTokenType } from '../tokens/types/registry.ts'
import { isWithin, readInstant, readRange } from './instant-range.ts'
import type { Value } from './lexer.ts'
import type { Condition, Lookup } from './query.ts'

/** What a field makes of a value: a condition, or the constant text of what is wrong. */
type Read = Omit<Condition, 'field'> | string
type ReadField = (value: Value) => Read

/** A field whose value is one text. `*` has a meaning only in containers, so elsewhere it must be in quotes. */
const textField =
  (read: (text: string) => Read): ReadField =>
  value => {
    if (value.kind === 'range') return 'only dates have ranges'
    if (!value.isQuoted && value.text.includes('*'))
      return 'only containers have wildcards; a value with * must be in quotes'
    return read(value.text)
  }

const dateField =
  (of: (token: Token) => Instant | undefined, lookup: (range: InstantRange) => Lookup): ReadField =>
  value => {
    const range = value.kind === 'range' ? readRange(value) : readInstant(value.text)
    if (range === undefined)
      return `a date must be like ${dateForms}, and a range must not end before it starts`
    return {
      lookup: lookup(range),
      matches: token => {
        const instant = of(token)
        return instant !== undefined && isWithin(instant, range)
      },
    }
  }

/** Ids of applications are written in lower case. */
const applicationField = (column: 'createdBy' | 'modifiedBy'): ReadField =>
  textField(text => {
    const is = text.toLowerCase()
    return {
      lookup: { by: 'column', condition: { column, is } },
      matches: token => token[column] === is,
    }
  })

/** `/a/` is that container alone, `/a/*` also covers everything below it. */
const readContainer: ReadField = value => {
  if (value.kind === 'range') return 'only dates have ranges'
  const isPrefix = value.text.endsWith('/*')
  const issues: Issue[] = []
  const container = parseContainerOrRoot(isPrefix ? value.text.slice(0, -1) : value.text, '', issues)
  if (container === undefined || (container === '/' && !isPrefix))
    return 'a container must be /a/b/, or /a/* with all below it'
  return isPrefix
    ? {
        lookup: { by: 'term', terms: termsUnder([container]) },
        matches: token => token.containers.some(own => covers(container, own)),
      }
    : {
        lookup: { by: 'term', terms: [directContainerTerm(container)] },
        matches: token => token.containers.includes(container),
      }
}

/** Every field except `metadata.<key>`. */
export const searchFields: ReadonlyMap<string, ReadField> = new Map<string, ReadField>([
  ['id', textField(id => ({ lookup: { by: 'id', id }, matches: token => token.id === id }))],
  [
    'type',
    textField(name =>
      tokenType(name) === undefined
        ? `a type ${unknownTokenType}`
        : { lookup: { by: 'term', terms: [typeTerm(name)] }, matches: token => token.type.name === name },
    ),
  ],
  [
    'data',
    textField(text => {
      const term = dataTerm(text)
      return {
        lookup: { by: 'term', terms: [term] },
        hiddenUnderRedact: true,
        matches: (token, hashed) => token.indexTerms.includes(hashed(term)),
      }
    }),
  ],
  [
    'fingerprint',
    textField(text => ({
      lookup: { by: 'term', terms: [fingerprintTerm(text)] },
      hiddenUnderRedact: true,
      matches: token => token.fingerprint === text,
    })),
  ],
  ['container', readContainer],
  ['created_by', applicationField('createdBy')],
  [
    'created_at',
    dateField(
      token => token.createdAt,
      range => ({ by: 'createdAt', range }),
    ),
  ],
  ['modified_by', applicationField('modifiedBy')],
  [
    'modified_at',
    dateField(
      token => token.modifiedAt,
      within => ({ by: 'column', condition: { column: 'modifiedAt', within } }),
    ),
  ],
])

export const metadataField = (key: string): ReadField =>
  textField(text => {
    const term = metadataTerm(key, text)
    return {
      lookup: { by: 'term', terms: [term] },
      matches: token => {
        const own = token.metadata && getOwn(token.metadata, key)
        return own !== undefined && metadataTerm(key, own).value === term.value
      },
    }
  })
