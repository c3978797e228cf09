export type Page<T> = {
  readonly data: readonly T[]
  /** The `start` of the page after it. */
  readonly next: string | undefined
  /** A feed has a `next` at its end too, for what comes later. */
  readonly isLast: boolean
}

/** Everything a list has, fetched page by page as it is read. */
export class Pages<T> implements AsyncIterable<T> {
  readonly #page: (start: string | undefined) => Promise<Page<T>>
  readonly #start: string | undefined

  constructor(page: (start: string | undefined) => Promise<Page<T>>, start: string | undefined) {
    this.#page = page
    this.#start = start
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const { data } of this.pages()) yield* data
  }

  /** Page by page, to store `next` and go on there another time. */
  async *pages(): AsyncGenerator<Page<T>, void, undefined> {
    let start = this.#start
    for (;;) {
      const page = await this.#page(start)
      yield page
      if (page.isLast) return
      start = page.next
    }
  }
}

type WithPagination<T> = { readonly pagination: { readonly next?: string }; readonly data: readonly T[] }

export const untilNoNext = <T>({ pagination: { next }, data }: WithPagination<T>): Page<T> => ({
  data,
  next,
  isLast: next === undefined,
})

export const untilEmpty = <T>({ pagination: { next }, data }: WithPagination<T>): Page<T> => ({
  data,
  next,
  isLast: data.length === 0,
})

type Numbered<T> = {
  readonly pagination: { readonly page_number: number; readonly total_pages: number }
  readonly data: readonly T[]
}

/** Of what has no cursor. */
export const pagesByNumber = <T>(page: (number: number) => Promise<Numbered<T>>): Pages<T> =>
  new Pages(async (start = '1') => {
    const { data, pagination } = await page(Number(start))
    const { page_number, total_pages } = pagination
    return { data, next: String(page_number + 1), isLast: page_number >= total_pages }
  }, undefined)
