import type { Json, JsonObject } from '../../domain/json/json.ts'
import type { Instant } from '../../domain/time/instant.ts'

/** A page of tokens. It may take a hundred megabytes, so it is made and sent a few tokens at a time. */
export type Page = {
  /** The tokens as the caller sees them. */
  readonly tokens: AsyncIterable<readonly Json[]>
  /** The other fields of the answer, once all tokens are read. */
  rest(): Promise<{ readonly pagination: Json; readonly [field: string]: Json }>
}

export const isPage = (answer: unknown): answer is Page =>
  typeof answer === 'object' && answer !== null && 'tokens' in answer && 'rest' in answer

/** §2.6, C24: the totals of a page that was requested by number. */
export const numbered = ({
  page,
  size,
  total,
}: {
  page: number
  size: number
  total: number
}): JsonObject => ({
  total_items: total,
  page_number: page,
  page_size: size,
  total_pages: Math.ceil(total / size),
})

/** A page of what a tenant has few of, newest first. */
export const numberedPage = <Item extends { readonly id: string; readonly createdAt: Instant }>(
  items: readonly Item[],
  { page, size }: { readonly page: number; readonly size: number },
  view: (item: Item) => JsonObject,
): JsonObject => {
  const sorted = [...items].sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? -1 : 1))
  return {
    pagination: numbered({ page, size, total: sorted.length }),
    data: sorted.slice((page - 1) * size, page * size).map(view),
  }
}

/** The answer in one piece. */
export const wholePage = async (page: Page): Promise<JsonObject> => {
  const data: Json[] = []
  for await (const tokens of page.tokens) data.push(...tokens)
  const { pagination, ...more } = await page.rest()
  return { pagination, data, ...more }
}
