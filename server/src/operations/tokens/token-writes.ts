import type { Token } from '../../domain/tokens/token.ts'
import type { IndexTerm } from '../../store/rows.ts'
import { CounterSums, type Effect, type GuardedChange, type Match } from '../../store/write-set.ts'
import { activeCounter, sealsCounter } from '../vault/counters.ts'
import type { UnlockedTenant } from '../vault/vault.ts'
import type { Changes } from '../writing/commit.ts'
import { matchName, matchOf, sameMatch } from './deduplication/match.ts'
import { type Category, categoryOf, indexedToken, tokenTerms } from './index-entries.ts'
import { sealTokenRow, sealTransientRow } from './token-rows.ts'

/** Collects the changes of one operation into one write set. Index entries and counters follow from the tokens. */
export class TokenWrites {
  readonly #tenant: UnlockedTenant
  readonly #guarded: GuardedChange[] = []
  readonly #entries: Effect[] = []
  readonly #effects: Effect[] = []
  readonly #counters = new CounterSums()
  readonly #purged: Token[] = []

  constructor(tenant: UnlockedTenant) {
    this.#tenant = tenant
  }

  /**
   * Adds entries of new tokens in reverse. Within a millisecond the index sorts later ids first, so each entry goes right behind
   * the one added before it, and pages fill up. In the other order, pages would be split in half.
   */
  get changes(): Changes {
    const claimed = new Set(
      this.#guarded.flatMap(change =>
        change.kind === 'claimMatch' ? [claimName(change.match, change.tokenId)] : [],
      ),
    )
    // A new token may have the id of the expired one whose match it claims. Releasing the old claim must not release the new one.
    const isClaimedAgain = (effect: Effect): boolean =>
      effect.kind === 'releaseMatch' && claimed.has(claimName(effect.match, effect.tokenId))
    return {
      tenant: this.#tenant.tenantNumber,
      guarded: this.#guarded,
      effects: [...this.#entries.toReversed(), ...this.#effects.filter(effect => !isClaimedAgain(effect))],
      counters: this.#counters.moves,
      purged: this.#purged,
    }
  }

  insert(token: Token): void {
    const { keys } = this.#tenant
    this.#guarded.push({ kind: 'insertToken', row: sealTokenRow(token, keys) })
    const category = categoryOf(keys, token)
    const terms = tokenTerms(this.#tenant, token, category)
    this.#entries.push({ kind: 'addTerms', of: indexedToken(token, terms), terms })
    this.#putTransients(token, [])
    this.#countContainers(category, 1)
    this.#counters.add({ name: category.typeCounter, by: 1, at: token.createdAt })
    this.#counters.add({ name: activeCounter(token.activeMonth), by: 1 })
    this.#countSeal()
  }

  update(before: Token, after: Token): void {
    const { keys } = this.#tenant
    this.#guarded.push({
      kind: 'updateToken',
      row: sealTokenRow(after, keys),
      ifVersion: before.version,
    })
    this.#moveTerms(before, after)
    this.#putTransients(after, before.transients)
    if (!sameList(before.containers, after.containers)) {
      this.#countContainers(categoryOf(keys, before), -1)
      this.#countContainers(categoryOf(keys, after), 1)
    }
    this.#countSeal()
  }

  remove(token: Token): void {
    this.#guarded.push({ kind: 'deleteToken', id: token.id, ifVersion: token.version })
    const category = categoryOf(this.#tenant.keys, token)
    const terms = tokenTerms(this.#tenant, token, category)
    this.#effects.push({ kind: 'removeTerms', of: indexedToken(token, terms), terms })
    this.#release(token)
    this.#countContainers(category, -1)
    this.#counters.add({ name: category.typeCounter, by: -1 })
  }

  /** Removes a token that has expired, on behalf of nobody. */
  purge(token: Token): void {
    this.#purged.push(token)
    this.remove(token)
  }

  /** The token must be what it was when it was read, or still be absent. */
  expect(id: string, sealed: Uint8Array | null): void {
    this.#guarded.push({ kind: 'expectToken', id, sealed })
  }

  /** Claims the token's match, which nobody has, or which a token has that no longer stands for it. */
  claimMatch(match: Match, token: Token, insteadOf: string | undefined): void {
    this.#guarded.push({ kind: 'claimMatch', match, tokenId: token.id, insteadOf: insteadOf ?? null })
  }

  #moveTerms(before: Token, after: Token): void {
    const old = tokenTerms(this.#tenant, before)
    const next = tokenTerms(this.#tenant, after)
    const [was, is] = [indexedToken(before, old), indexedToken(after, next)]
    // Every entry carries expiry and signature. If either changes, all entries are written again.
    const allMoved = was.expiresAt !== is.expiresAt || was.signature !== is.signature
    const added = allMoved ? next : without(next, old, taggedName)
    const removed = without(old, next, termName)
    if (removed.length > 0) this.#effects.push({ kind: 'removeTerms', of: was, terms: removed })
    if (added.length > 0) this.#effects.push({ kind: 'addTerms', of: is, terms: added })
    if (!sameMatch(matchOf(this.#tenant, before), matchOf(this.#tenant, after))) this.#release(before)
  }

  #release(token: Token): void {
    const match = matchOf(this.#tenant, token)
    if (match !== undefined) this.#effects.push({ kind: 'releaseMatch', match, tokenId: token.id })
  }

  #putTransients(token: Token, before: Token['transients']): void {
    const { keys } = this.#tenant
    for (const transient of token.transients) {
      if (before.includes(transient)) continue
      this.#effects.push({
        kind: 'putTransient',
        row: sealTransientRow(token, transient, keys),
      })
      this.#countSeal()
    }
    for (const { field } of before)
      if (!token.transients.some(transient => transient.field === field))
        this.#effects.push({ kind: 'dropTransient', tokenId: token.id, field })
  }

  #countContainers({ containerCounters }: Category, by: 1 | -1): void {
    for (const name of containerCounters) this.#counters.add({ name, by })
  }

  #countSeal(): void {
    this.#counters.add({ name: sealsCounter(this.#tenant.keys.currentDataVersion), by: 1 })
  }
}

const sameList = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((item, index) => item === b[index])

const without = (
  terms: readonly IndexTerm[],
  others: readonly IndexTerm[],
  nameOf: (term: IndexTerm) => string,
): IndexTerm[] => {
  const known = new Set(others.map(nameOf))
  return terms.filter(term => !known.has(nameOf(term)))
}

const claimName = (match: Match, tokenId: string): string => `${matchName(match)} ${tokenId}`

const termName = ({ term }: IndexTerm): string => Buffer.from(term).toString('base64')
const taggedName = (entry: IndexTerm): string =>
  `${termName(entry)}:${entry.tag === null ? '' : Buffer.from(entry.tag).toString('base64')}`
