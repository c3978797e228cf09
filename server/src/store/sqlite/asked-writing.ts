import type { BatchResult } from '../commit-queue.ts'
import { unwritable } from './engine-reason.ts'
import { type PackedSets, packSets } from './packed-sets.ts'
import type { StandaloneName } from './standalone-writes.ts'
import type { WritingSide } from './writing-side.ts'

/** What a writer elsewhere, on another thread or in another process, is asked: plain data. */
export type WriterRequest =
  | { readonly kind: 'commit'; readonly batches: readonly PackedSets[] }
  | { readonly kind: 'standalone'; readonly name: StandaloneName; readonly args: readonly unknown[] }
  | { readonly kind: 'close' }

export type WriterAnswer =
  | { readonly results: readonly BatchResult[] }
  | { readonly value: unknown }
  | { readonly failed: string }

export type AskWriter = (request: WriterRequest) => Promise<WriterAnswer>

/** The writing side of a store whose writer is elsewhere. */
export const askedWriting = (writer: AskWriter): WritingSide => {
  let isClosed = false
  const ask: AskWriter = async request => {
    // The writer itself may go on, for other processes.
    if (isClosed) throw unwritable('storage is closed')
    return writer(request)
  }
  return {
    commit: async sets => {
      const answer = await ask({ kind: 'commit', batches: [packSets(sets)] })
      if ('results' in answer) return answer.results
      throw unwritable('failed' in answer ? answer.failed : 'the batch was not answered')
    },
    standalone: async (name, args) => {
      const answer = await ask({ kind: 'standalone', name, args })
      if ('value' in answer) return answer.value as never
      throw unwritable('failed' in answer ? answer.failed : 'the call was not answered')
    },
    close: async () => {
      await ask({ kind: 'close' })
      isClosed = true
    },
  }
}
