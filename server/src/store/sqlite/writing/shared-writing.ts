import { engineReason } from '../engine-reason.ts'
import type { Writer, WriterAnswer } from './asked-writing.ts'
import type { PackedSets } from './packed-sets.ts'

type SubmittedBatches = {
  readonly batches: readonly PackedSets[]
  readonly resolve: (answer: WriterAnswer) => void
}

/** About two thousand tokens: bounds how long a small write can wait for the large ones of others. A batch is never split. */
const bytesPerCommit = 1 << 20

/**
 * One writer for several processes. The sets they submit while a batch is under way become the next batch, so the
 * processes share its fsync as the requests of one process do, and none waits for a lock.
 */
export const sharedWriting = ({ ask, close }: Writer): Writer => {
  const waiting: SubmittedBatches[] = []
  let isRunning = false

  const commitAll = async (batch: readonly SubmittedBatches[]): Promise<void> => {
    const answer = await answered(ask({ kind: 'commit', batches: batch.flatMap(({ batches }) => batches) }))
    let from = 0
    for (const { batches, resolve } of batch) {
      const to = batches.reduce((end, { count }) => end + count, from)
      resolve('results' in answer ? { results: answer.results.slice(from, to) } : answer)
      from = to
    }
  }

  const run = async (): Promise<void> => {
    isRunning = true
    while (waiting.length > 0) await commitAll(takeNext(waiting))
    isRunning = false
  }

  return {
    ask: request => {
      if (request.kind !== 'commit') return answered(ask(request))
      return new Promise(resolve => {
        waiting.push({ batches: request.batches, resolve })
        if (!isRunning) void run()
      })
    },
    close,
  }
}

/** Takes the first ones, as many as one commit holds, out of the list. */
const takeNext = (waiting: SubmittedBatches[]): SubmittedBatches[] => {
  let bytes = 0
  const end = waiting.findIndex(({ batches }) => {
    for (const batch of batches) bytes += batch.bytes.length
    return bytes > bytesPerCommit
  })
  return waiting.splice(0, end < 0 ? waiting.length : Math.max(end, 1))
}

/** Turns a failure into an answer to the process that asked. */
const answered = (asked: Promise<WriterAnswer>): Promise<WriterAnswer> =>
  asked.catch(error => ({ failed: engineReason(error) }))
