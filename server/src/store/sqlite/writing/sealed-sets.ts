import type { LogPart, SealedLog, WriteSet } from '../../write-set.ts'

/** A write set as the writing connection takes it: plain data. Its part of the log is sealed together with others of its tenant. */
export type SealedSet = Omit<WriteSet, 'log'> & { readonly log: LogShare | null }

/** Records of sets that were submitted together, sealed as one. */
export type SealedBlock = SealedLog & { readonly records: number }

/** The records of one set within a block. */
export type LogShare = { readonly block: SealedBlock; readonly from: number; readonly records: number }

/** Seals what the sets of one tenant add to its log. */
export const sealLog = (sets: readonly WriteSet[]): SealedBlock | null => {
  const [first, ...others] = sets.flatMap(({ log }): LogPart[] => (log === null ? [] : [log]))
  return first === undefined ? null : sealParts(first, others)
}

export const sealParts = (first: LogPart, others: readonly LogPart[]): SealedBlock => {
  const { firstAt, lastAt, sealed } = first.sealWith(others)
  const records = others.reduce((sum, part) => sum + part.records, first.records)
  return { firstAt, lastAt, sealed, records }
}

/** For a writer on the same thread: seals the log of sets of one tenant. */
export const sealSets = (sets: readonly WriteSet[]): SealedSet[] => {
  const shareOf = sharing(sealLog(sets))
  return sets.map(set => ({ ...set, log: shareOf(set.log === null ? 0 : set.log.records) }))
}

/** Gives each set its share of the block, one after the other. */
export const sharing = (block: SealedBlock | null): ((records: number) => LogShare | null) => {
  let from = 0
  return records => {
    if (block === null || records === 0) return null
    const share = { block, from, records }
    from += records
    return share
  }
}
