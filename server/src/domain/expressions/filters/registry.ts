import { aliasFilters } from './alias.ts'
import { arrayFilters } from './arrays.ts'
import { cardFilters } from './card.ts'
import { convertFilters } from './convert.ts'
import { dateFilters } from './date.ts'
import { encodeFilters } from './encode.ts'
import type { Filter } from './filter.ts'
import { numberFilters } from './numbers.ts'
import { revealFilters } from './reveal.ts'
import { textFilters } from './text.ts'
import { webFilters } from './web.ts'

/** Every filter of the language, by its name (C21). A Map, so that `constructor` is not a filter. */
export const filters: ReadonlyMap<string, Filter> = new Map<string, Filter>(
  Object.entries({
    ...revealFilters,
    ...cardFilters,
    ...convertFilters,
    ...textFilters,
    ...numberFilters,
    ...arrayFilters,
    ...dateFilters,
    ...webFilters,
    ...encodeFilters,
    ...aliasFilters,
  }),
)
