import type { BatchResult } from '../../commit-queue.ts'
import { unwritable } from '../engine-reason.ts'
import type { TenantTerms } from '../waiting-entries.ts'
import { byTenant, inOrder } from './by-tenant.ts'
import { type PackedSets, packSets } from './packed-sets.ts'
import type { StandaloneName } from './standalone-writes.ts'
import type { WritingSide } from './writing-side.ts'

/** A request to a writer on another thread or in another process: plain data. */
export type WriterRequest =
  | { readonly kind: 'commit'; readonly batches: readonly PackedSets[] }
  | { readonly kind: 'settle'; readonly some: TenantTerms }
  | { readonly kind: 'settleSome' }
  | { readonly kind: 'standalone'; readonly name: StandaloneName; readonly args: readonly unknown[] }

export type WriterAnswer =
  | { readonly results: readonly BatchResult[] }
  | { readonly value: unknown }
  | { readonly failed: string }

export type AskWriter = (request: WriterRequest) => Promise<WriterAnswer>
export type Writer = {
  readonly ask: AskWriter
  /** Ends a writer that serves only its caller. A shared one goes on serving the others. */
  close(): Promise<void>
}

/** The writing side of a store whose writer is on another thread or in another process. */
export const writerClient = (writer: Writer): WritingSide => {
  let isClosed = false
  const ask: AskWriter = async request => {
    if (isClosed) throw unwritable('storage is closed')
    return writer.ask(request)
  }
  const askForValue = async (request: WriterRequest): Promise<unknown> => {
    const answer = await ask(request)
    if ('value' in answer) return answer.value
    throw unwritable('failed' in answer ? answer.failed : 'the call was not answered')
  }
  return {
    commit: async sets => {
      const packed = byTenant(sets, packSets)
      const answer = await ask({ kind: 'commit', batches: packed.map(({ made }) => made) })
      if (!('results' in answer))
        throw unwritable('failed' in answer ? answer.failed : 'the batch was not answered')
      return inOrder(sets, packed, answer.results)
    },
    standalone: async (name, args) => (await askForValue({ kind: 'standalone', name, args })) as never,
    settle: async ({ tenant, terms }) => {
      // Copied, because a buffer from a pool would send the whole pool along.
      const some = { tenant, terms: terms.map(term => Uint8Array.from(term)) }
      await askForValue({ kind: 'settle', some })
    },
    settleSome: async () => Number(await askForValue({ kind: 'settleSome' })),
    close: async () => {
      // Set first, because a closing writer answers nothing more.
      isClosed = true
      await writer.close()
    },
  }
}
