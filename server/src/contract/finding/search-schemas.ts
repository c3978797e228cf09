import { limits } from '../../domain/limits.ts'
import { pace } from '../../domain/pace.ts'
import { startingFields } from '../../domain/search/plan.ts'
import { pageNumber, pageSize } from '../paging.ts'
import { body, flag, text } from '../schema.ts'
import { TokenPage } from '../tokens/schemas.ts'
import { type Static, Type } from '../type.ts'

const query = text({
  max: limits.searchQueryCharactersMax,
  description: [
    'field:value or field:"two words", with the fields id, type, data, fingerprint, container,',
    'metadata.<key>, created_by, created_at, modified_by and modified_at; AND, OR and NOT in capitals (NOT also',
    'as ! or -), and parentheses; NOT binds closest, then AND, then OR, and terms side by side are ANDed.',
    'container:/a/ is that container, container:/a/* also those below it. Dates are written as in expires_at:',
    'a date is its whole day in UTC, a time one millisecond; [a TO b] includes its ends, {a TO b} does not, * is an',
    'open end.',
    'data: matches the search indexes, metadata.<key>: the value of that key; both ignore letter case.',
    `Each alternative needs a term on ${startingFields} that is not negated.`,
  ].join(' '),
})

/** C26. */
export const SearchTokens = body({
  query,
  page: Type.Optional(pageNumber),
  size: Type.Optional(pageSize),
  explain: Type.Optional(flag({ description: 'Whether to answer with the plan of the search as well.' })),
})
export type SearchTokens = Static<typeof SearchTokens>

/** The same search, paged by cursor (C25). */
export const SearchTokensByCursor = body({
  query,
  start: Type.Optional(
    Type.String({ description: 'The `next` of the page before; the query must be the same.' }),
  ),
  size: Type.Optional(pageSize),
})
export type SearchTokensByCursor = Static<typeof SearchTokensByCursor>

export const SearchPlan = Type.Object({
  counted_by: Type.String({
    examples: ['index'],
    description: 'index, or opening if tokens had to be opened to count.',
  }),
  touched_rows: Type.Optional(
    Type.Integer({
      description:
        'Token rows read and opened. Like the estimates, only for callers who may see every token.',
    }),
  ),
  branches: Type.Array(
    Type.Object({
      steps: Type.Array(
        Type.Object({
          do: Type.String({
            examples: ['start'],
            description: 'start, check (by the index) or open (the token decides).',
          }),
          field: Type.String({ examples: ['data'], description: 'A field of the query, or access.' }),
          negated: Type.Optional(Type.Boolean({ examples: [false] })),
          estimated_rows: Type.Optional(
            Type.Integer({ description: `Counted up to ${pace.searchProbeEntries} for each term.` }),
          ),
          touched_rows: Type.Optional(
            Type.Integer({
              description:
                'For the first step, the rows it found; for others, those that earlier steps left.',
            }),
          ),
        }),
      ),
    }),
  ),
})

export const FoundTokens = Type.Object({ ...TokenPage.properties, plan: Type.Optional(SearchPlan) })
