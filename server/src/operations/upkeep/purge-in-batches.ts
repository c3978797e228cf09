import { setImmediate as nextTurn } from 'node:timers/promises'
import { pace } from '../../domain/pace.ts'

/** Repeats a purge until nothing is left for it, with requests answered in between; says how much it purged. */
export const purgeInBatches = async (purge: (rowsMax: number) => Promise<number>): Promise<number> => {
  for (let purged = 0; ; ) {
    const rows = await purge(pace.sweepBatchRows)
    if (rows === 0) return purged
    purged += rows
    await nextTurn()
  }
}
