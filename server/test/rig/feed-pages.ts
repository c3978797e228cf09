import assert from 'node:assert/strict'
import type { VaultEvent } from '../../src/domain/events/event.ts'
import { granted } from './answers.ts'
import type { TestVault } from './test-vault.ts'

type Feed = { readonly pages: VaultEvent[][]; readonly events: VaultEvent[]; readonly next: string }

/** Every page of the feed, until the one that is empty. */
export const readFeed = async (vault: Pick<TestVault, 'send'>, key: string, query = ''): Promise<Feed> => {
  const pages: VaultEvent[][] = []
  let start = ''
  for (;;) {
    const path = `/events?${query}${start === '' ? '' : `&start=${start}`}`
    const { pagination, data } = granted(await vault.send('GET', path, { key }))
    assert.equal(typeof pagination.next, 'string')
    start = pagination.next
    if (data.length === 0) return { pages, events: pages.flat(), next: start }
    pages.push(data)
    assert.ok(pages.length < 1_000, 'the feed does not end')
  }
}

export const typesOf = (events: readonly VaultEvent[]): string[] => events.map(({ type }) => type)
