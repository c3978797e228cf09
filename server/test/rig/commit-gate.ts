import { changesContent, type Outcome, type WriteSet } from '../../src/store/write-set.ts'
import type { TestVault } from './test-vault.ts'

/** Holds writes back just before they reach storage, so that a test decides what happens in between. */
export type CommitGate = {
  /** Resolves once this many writes are waiting. */
  waiting(count: number): Promise<void>
  /** Lets all waiting writes, and all later ones, through to storage in order. */
  open(): void
}

/** `which` selects the writes to hold; others pass, and so do records of what only reads. */
export const commitGate = (vault: TestVault, which: (set: WriteSet) => boolean = () => true): CommitGate => {
  const { store } = vault
  const { commit } = store
  const held: (() => void)[] = []
  let wanted: { count: number; reached: () => void } | undefined
  const tell = (): void => {
    if (wanted !== undefined && held.length >= wanted.count) wanted.reached()
  }
  store.commit = set =>
    changesContent(set) && which(set)
      ? new Promise<Outcome>((resolve, reject) => {
          held.push(() => void commit(set).then(resolve, reject))
          tell()
        })
      : commit(set)
  return {
    waiting: count =>
      new Promise(reached => {
        wanted = { count, reached }
        tell()
      }),
    open: () => {
      store.commit = commit
      for (const pass of held) pass()
    },
  }
}
