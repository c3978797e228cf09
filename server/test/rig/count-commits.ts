import { changesContent } from '../../src/store/write-set.ts'
import type { TestVault } from './test-vault.ts'

/** How many write sets reach storage during the work, besides records of what only reads. */
export const countCommits = async (vault: TestVault, work: () => Promise<unknown>): Promise<number> => {
  const { store } = vault
  const { commit } = store
  let commits = 0
  store.commit = set => {
    if (changesContent(set)) commits++
    return commit(set)
  }
  try {
    await work()
  } finally {
    store.commit = commit
  }
  return commits
}
