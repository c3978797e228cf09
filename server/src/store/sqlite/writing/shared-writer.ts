import { type BatchResult, batchWeight } from '../../commit-queue.ts'
import { FairQueue } from '../../fair-queue.ts'
import { engineReason } from '../engine-reason.ts'
import type { PackedSets } from './packed-sets.ts'
import type { Writer, WriterAnswer } from './writer-client.ts'

type Submitted = {
  readonly packed: PackedSets
  readonly resolve: (results: readonly BatchResult[]) => void
}

/**
 * One writer for several processes. The sets they submit while a batch is under way become the next batch, so the
 * processes share its fsync as the requests of one process do, and none waits for a lock. If more is submitted than one commit
 * holds, tenants take turns, whichever process their sets come from. Each process limits how much may wait (commit-queue.ts).
 */
export const sharedWriter = ({ ask, close }: Writer): Writer => {
  const waiting = new FairQueue<Submitted>()
  let isRunning = false

  const commitAll = async (batch: readonly Submitted[]): Promise<void> => {
    const answer = await answered(ask({ kind: 'commit', batches: batch.map(({ packed }) => packed) }))
    let from = 0
    for (const { packed, resolve } of batch) {
      const to = from + packed.count
      resolve('results' in answer ? answer.results.slice(from, to) : allFailed(packed, answer))
      from = to
    }
  }

  const run = async (): Promise<void> => {
    isRunning = true
    while (waiting.weight > 0) await commitAll(waiting.take(batchWeight))
    isRunning = false
  }

  const submit = (packed: PackedSets): Promise<readonly BatchResult[]> =>
    new Promise(resolve => {
      waiting.add(packed.tenant, { packed, resolve }, packed.weight)
      if (!isRunning) void run()
    })

  return {
    ask: async request =>
      request.kind === 'commit'
        ? { results: (await Promise.all(request.batches.map(submit))).flat() }
        : answered(ask(request)),
    close,
  }
}

const allFailed = ({ count }: PackedSets, answer: WriterAnswer): BatchResult[] => {
  const failed = 'failed' in answer ? answer.failed : 'the batch was not answered'
  return Array.from({ length: count }, () => ({ failed }))
}

/** Turns a failure into an answer to the process that asked. */
const answered = (asked: Promise<WriterAnswer>): Promise<WriterAnswer> =>
  asked.catch(error => ({ failed: engineReason(error) }))
