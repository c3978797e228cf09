import { firstVersion } from '../../crypto/random.ts'
import { requireDestinations } from '../../domain/access/access-checks.ts'
import type { Json } from '../../domain/json/json.ts'
import { limits } from '../../domain/limits.ts'
import type { Instant } from '../../domain/time/instant.ts'
import { monthOf } from '../../domain/time/month.ts'
import type { Token, Writable } from '../../domain/tokens/token.ts'
import type { TokenDefinition } from '../../domain/tokens/token-definition.ts'
import { isDeduplicated, matchOf } from '../deduplication/match.ts'
import { RequestMatches } from '../deduplication/request-matches.ts'
import type { Caller, Vault } from '../vault/vault.ts'
import { commit } from '../writing/commit.ts'
import { requireRoundsLeft } from '../writing/retry-on-conflict.ts'
import { chooseId, type Identified } from './choose-id.ts'
import { replaceTakenIds } from './replace-taken-ids.ts'
import { fingerprintFor } from './token-fingerprint.ts'
import { TokenWrites } from './token-writes.ts'

export type CreatedToken = { readonly token: Token; readonly deduplicated: boolean }

/** Creates all of the tokens or none. The core of createToken and tokenize, which say what the answer is. */
export const createTokens = async <A extends Json>(
  vault: Vault,
  caller: Caller,
  definitions: readonly TokenDefinition[],
  answerFor: (created: readonly CreatedToken[]) => A,
): Promise<A> => {
  const now = vault.clock()
  let identified = definitions.map(definition => ({ definition, id: chooseId(definition, now) }))
  for (const definition of definitions)
    requireDestinations(caller.application, 'token:create', definition.content.containers)
  let aliasesLeft = limits.aliasAttempts
  const someDeduplicated = definitions.some(({ content }) => isDeduplicated(caller, content.deduplicate))
  let mayBeMatch = someDeduplicated
  for (let rounds = 0; ; rounds++) {
    requireRoundsLeft(rounds)
    const writes = new TokenWrites(caller)
    const created = someDeduplicated
      ? await matchOrInsert(vault, caller, identified, writes)
      : insertAll(vault, caller, identified, writes)
    const answer = answerFor(created)
    const outcome = await commit(vault, caller, writes.set, answer)
    if (outcome.committed) return answer
    if (outcome.conflict === 'tokenExists') {
      // The token that took the id meanwhile may be the match itself, which wins over a taken id (C15): look once more.
      if (mayBeMatch) mayBeMatch = false
      else {
        aliasesLeft--
        identified = await replaceTakenIds(vault, caller, identified, aliasesLeft > 0)
      }
    }
  }
}

/** Every definition becomes a new token. */
const insertAll = (
  vault: Vault,
  caller: Caller,
  identified: readonly Identified[],
  writes: TokenWrites,
): CreatedToken[] => {
  const now = vault.clock()
  return identified.map(each => {
    const token = newToken(caller, each, now)
    writes.insert(token)
    return { token, deduplicated: false }
  })
}

/** Decides for each definition whether it becomes a new token or matches an existing one, and collects the writes. */
const matchOrInsert = async (
  vault: Vault,
  caller: Caller,
  identified: readonly Identified[],
  writes: TokenWrites,
): Promise<CreatedToken[]> => {
  const now = vault.clock()
  const created: CreatedToken[] = []
  const matches = new RequestMatches(vault, caller, writes)
  for (const each of identified) {
    const token = newToken(caller, each, now)
    const match = matchOf(caller, token)
    if (match !== undefined) {
      const existing = isDeduplicated(caller, token.deduplicate)
        ? await matches.findOrClaim(match, token)
        : undefined
      if (existing !== undefined) {
        created.push({ token: existing, deduplicated: true })
        continue
      }
      matches.note(match, token)
    }
    writes.insert(token)
    created.push({ token, deduplicated: false })
  }
  return created
}

const newToken = (caller: Caller, { definition: { content }, id }: Identified, now: Instant): Token => {
  const token: Writable<Token> = {
    ...content,
    id,
    tenantId: caller.tenant.id,
    version: firstVersion(),
    activeMonth: monthOf(now),
    createdBy: caller.application.id,
    createdAt: now,
  }
  const fingerprint = fingerprintFor(caller, content)
  if (fingerprint !== undefined) token.fingerprint = fingerprint
  return token
}
