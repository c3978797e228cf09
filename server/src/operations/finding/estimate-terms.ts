import { pace } from '../../domain/pace.ts'
import type { Term } from '../../domain/tokens/index-terms.ts'
import { hashGroup } from '../tokens/hash-terms.ts'
import type { Caller, Vault } from '../vault/vault.ts'

/** How many tokens have one of these terms. At the limit of a probe, the number is a minimum. */
export type EstimateOf = (terms: readonly Term[]) => number

/** A common term takes up to 0.2 ms. */
const termsAtATime = 16

/** Reads a little of the index for each term, enough to tell rare ones from common ones. */
export const estimateTerms = async (
  vault: Vault,
  caller: Caller,
  terms: readonly Term[],
): Promise<EstimateOf> => {
  if (terms.length === 0) return () => 0
  const name = (hash: Uint8Array): string => Buffer.from(hash).toString('latin1')
  const hashes = new Map(hashGroup(caller, terms).map(hash => [name(hash), hash]))
  const asked = [...hashes.values()]
  const counts: number[] = []
  for (let at = 0; at < asked.length; at += termsAtATime) {
    if (!caller.work.hasTurn) await caller.work.turn()
    const some = asked.slice(at, at + termsAtATime)
    counts.push(...(await vault.store.estimateTerms(caller.tenantNumber, some, pace.searchProbeEntries)))
  }
  const known = new Map([...hashes.keys()].map((key, index) => [key, counts[index] ?? 0]))
  return group => hashGroup(caller, group).reduce((sum, hash) => sum + (known.get(name(hash)) ?? 0), 0)
}

type Rarity = { readonly estimate: number; readonly terms: readonly unknown[] }

/**
 * A page starts from its rarest group. Among equally rare ones, a single term goes first, because its entries are already in list
 * order.
 */
export const byRarity = (one: Rarity, other: Rarity): number =>
  one.estimate - other.estimate || one.terms.length - other.terms.length
