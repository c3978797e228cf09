import type { Json, JsonObject } from '../../domain/json/json.ts'

/** §2.6, C24: a page that was asked for by its number, with the totals. */
export const numberedPage = (
  { page, size, total }: { page: number; size: number; total: number },
  data: Json[],
): JsonObject => ({
  pagination: {
    total_items: total,
    page_number: page,
    page_size: size,
    total_pages: Math.ceil(total / size),
  },
  data,
})
