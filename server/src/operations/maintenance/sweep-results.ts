import { pace } from '../../domain/pace.ts'
import type { Vault } from '../vault/vault.ts'
import { resultDeadlines } from '../writing/kept-results.ts'
import { purgeInBatches } from './purge-in-batches.ts'

/** §4.11.7: purges kept answers after 24 hours. */
export const sweepResults = ({ store, clock }: Vault, stopping?: AbortSignal): Promise<number> =>
  purgeInBatches(() => store.purgeResults(resultDeadlines(clock()), pace.sweepBatchRows), stopping)
