import { setImmediate as nextIteration } from 'node:timers/promises'

/** Repeats a purge until nothing is left or it must stop. Requests are answered in between. Returns how many rows it purged. */
export const purgeInBatches = async (
  purge: () => Promise<number>,
  stopping: AbortSignal | undefined,
): Promise<number> => {
  for (let purged = 0; ; ) {
    const rows = await purge()
    purged += rows
    if (rows === 0 || stopping?.aborted) return purged
    await nextIteration()
  }
}
