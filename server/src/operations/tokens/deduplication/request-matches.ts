import type { Token } from '../../../domain/tokens/token.ts'
import type { Match } from '../../../store/write-set.ts'
import type { Caller, Vault } from '../../vault/vault.ts'
import type { TokenWrites } from '../token-writes.ts'
import { matchName } from './match.ts'
import { claimMatch, findMatch } from './match-holder.ts'

/** Deduplication within one request (C15): values of a payload may match stored tokens, and each other. */
export class RequestMatches {
  readonly #vault: Vault
  readonly #caller: Caller
  readonly #writes: TokenWrites
  /** The first new token of the request for each match. */
  readonly #new = new Map<string, Token>()
  /** Which token stands for a match is decided once: a second search could find another one (C15.10). */
  readonly #decided = new Map<string, Token>()

  constructor(vault: Vault, caller: Caller, writes: TokenWrites) {
    this.#vault = vault
    this.#caller = caller
    this.#writes = writes
  }

  /** Returns the token that already stands for the same value, or undefined if the given token claims the match. */
  async findOrClaim(match: Match, token: Token): Promise<Token | undefined> {
    const name = matchName(match)
    const decided = this.#decided.get(name)
    if (decided !== undefined) return decided
    const { holder, found = this.#new.get(name) } = await findMatch(this.#vault, this.#caller, match, token)
    this.#decided.set(name, found ?? token)
    if (found === undefined)
      await claimMatch(this.#vault, this.#caller, this.#writes, { match, token, holder })
    return found
  }

  /**
   * Notes a new token, whether or not it asked for deduplication. A later token of the request that asks for it may match this
   * one.
   */
  note(match: Match, token: Token): void {
    const name = matchName(match)
    if (!this.#new.has(name)) this.#new.set(name, token)
  }
}
