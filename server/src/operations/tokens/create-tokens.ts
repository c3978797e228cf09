import { firstVersion } from '../../crypto/random.ts'
import { requireDestinations } from '../../domain/access/access-checks.ts'
import type { Json } from '../../domain/json/json.ts'
import { limits } from '../../domain/limits.ts'
import { monthOf } from '../../domain/time/month.ts'
import type { Token, Writable } from '../../domain/tokens/token.ts'
import type { TokenDefinition } from '../../domain/tokens/token-definition.ts'
import { isDeduplicated, matchOf } from '../deduplication/match.ts'
import { RequestMatches } from '../deduplication/request-matches.ts'
import type { Caller, Vault } from '../vault/vault.ts'
import { commit } from '../writing/commit.ts'
import { retryOnConflict } from '../writing/retry-on-conflict.ts'
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
  let mayBeMatch = definitions.some(({ content }) => isDeduplicated(caller, content.deduplicate))
  return await retryOnConflict(async () => {
    const writes = new TokenWrites(caller)
    const answer = answerFor(await resolveDefinitions(vault, caller, identified, writes))
    const outcome = await commit(vault, caller, writes.set, answer)
    if (!outcome.committed && outcome.conflict === 'tokenExists') {
      // The token that took the id meanwhile may be the match itself, which wins over a taken id (C15): look once more.
      if (mayBeMatch) mayBeMatch = false
      else {
        aliasesLeft--
        identified = await replaceTakenIds(vault, caller, identified, aliasesLeft > 0)
      }
    }
    return { outcome, answer }
  })
}

/** Decides for each definition whether it becomes a new token or matches an existing one, and collects the writes. */
const resolveDefinitions = async (
  vault: Vault,
  caller: Caller,
  identified: readonly Identified[],
  writes: TokenWrites,
): Promise<CreatedToken[]> => {
  const now = vault.clock()
  const created: CreatedToken[] = []
  const someDeduplicated = identified.some(({ definition: { content } }) =>
    isDeduplicated(caller, content.deduplicate),
  )
  const matches = someDeduplicated ? new RequestMatches(vault, caller, writes) : undefined
  for (const { definition, id } of identified) {
    const { content } = definition
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
    const match = matches && matchOf(caller, token)
    if (matches !== undefined && match !== undefined) {
      const existing = isDeduplicated(caller, content.deduplicate)
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
