import { firstVersion, randomBelow } from '../../crypto/random.ts'
import { newTokenId } from '../../crypto/token-id.ts'
import { requireDestinations } from '../../domain/access/access-checks.ts'
import { invalid, VaultError } from '../../domain/errors.ts'
import type { Allowance } from '../../domain/expressions/budget.ts'
import type { Expression } from '../../domain/expressions/expression.ts'
import { ExpressionError } from '../../domain/expressions/expression-error.ts'
import { holdsLookAlike } from '../../domain/expressions/filters/card-look-alike.ts'
import { budgetFor } from '../../domain/expressions/run.ts'
import type { Json } from '../../domain/json/json.ts'
import { limits } from '../../domain/limits.ts'
import { field } from '../../domain/place.ts'
import { monthOf } from '../../domain/time/month.ts'
import type { Token, Writable } from '../../domain/tokens/token.ts'
import type { TokenDefinition } from '../../domain/tokens/token-definition.ts'
import { containsNumber, tokenIdFault } from '../../domain/tokens/token-id.ts'
import type { Caller, Vault } from '../vault/vault.ts'
import { commitSet } from '../writing/commit.ts'
import { retryOnConflict } from '../writing/retry-on-conflict.ts'
import { claimMatch, removeExpired } from './claim-match.ts'
import { findMatch } from './find-match.ts'
import { matchOf } from './index-entries.ts'
import { fingerprintFor, isDeduplicated } from './token-fingerprint.ts'
import { TokenWrites } from './token-writes.ts'

/** A definition and the id that its token gets; a taken id may be replaced. */
type Identified = { readonly definition: TokenDefinition; id: string }

export type CreatedToken = { readonly token: Token; readonly deduplicated: boolean }

/** Creates all of the tokens or none. The core of createToken and tokenize, which say what the answer is. */
export const createTokens = async <A extends Json>(
  vault: Vault,
  caller: Caller,
  definitions: readonly TokenDefinition[],
  answerFor: (created: readonly CreatedToken[]) => A,
): Promise<A> => {
  const now = vault.clock()
  const identified = definitions.map(definition => ({ definition, id: chooseId(definition, now) }))
  for (const definition of definitions)
    requireDestinations(caller.application, 'token:create', definition.content.containers)
  let aliasesLeft = limits.aliasAttempts
  let mayBeMatch = definitions.some(({ content }) => isDeduplicated(caller, content.deduplicate))
  return retryOnConflict(async () => {
    const writes = new TokenWrites(caller)
    const answer = answerFor(await draft(vault, caller, identified, writes))
    const outcome = await caller.commit(writes.set, answer)
    if (!outcome.committed && outcome.conflict === 'tokenExists') {
      // The token that took the id meanwhile may be the match itself, which wins over a taken id (C15): look once more.
      if (mayBeMatch) mayBeMatch = false
      else {
        aliasesLeft--
        await replaceTakenIds(vault, caller, identified, aliasesLeft > 0)
      }
    }
    return { outcome, answer }
  })
}

/** Decides for each definition whether it becomes a new token or matches an existing one, and collects the writes. */
const draft = async (
  vault: Vault,
  caller: Caller,
  identified: readonly Readonly<Identified>[],
  writes: TokenWrites,
): Promise<CreatedToken[]> => {
  const now = vault.clock()
  const created: CreatedToken[] = []
  const inThisRequest = new Map<string, Token>()
  /** Which token stands for a match is decided once: a second look at storage might find another one (C15.10). */
  const decided = new Map<string, Token>()
  const someDeduplicated = identified.some(({ definition: { content } }) =>
    isDeduplicated(caller, content.deduplicate),
  )
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
    const match = someDeduplicated ? matchOf(caller, token) : undefined
    if (match !== undefined) {
      const name = Buffer.concat([match.term, match.tag]).toString('base64')
      if (isDeduplicated(caller, content.deduplicate)) {
        const known = decided.get(name)
        const { holder, found = inThisRequest.get(name) } =
          known === undefined
            ? await findMatch(vault, caller, match, token)
            : { holder: undefined, found: known }
        decided.set(name, found ?? token)
        if (found !== undefined) {
          created.push({ token: found, deduplicated: true })
          continue
        }
        await claimMatch(vault, caller, writes, { match, token, holder })
      }
      // Also if this definition asks for no deduplication: a later one in the request may ask for it, and match this token.
      if (!inThisRequest.has(name)) inThisRequest.set(name, token)
    }
    writes.insert(token)
    created.push({ token, deduplicated: false })
  }
  return created
}

/** C16: an id of the vault's own, a literal one, or what the expression renders. */
const chooseId = (definition: TokenDefinition, now: number): string => {
  const { id, place, allowance, content } = definition
  if (id === undefined) return newTokenId(now)
  const { type, data } = content
  const path = field(place, 'id')
  const exposed = data.expose('rendering an id, and keeping the number out of it')
  const chosen = drawId(id, exposed, path, allowance) ?? newTokenId(now)
  const message = tokenIdFault(chosen)
  if (message !== undefined) throw invalid({ path, message })
  if (containsNumber(chosen, type.numbers(exposed)))
    throw invalid({ path, message: 'must not contain the number itself' })
  return chosen
}

/** Undefined if every draw of an alias, with what the expression puts around it, could be mistaken for a card number (C21). */
const drawId = (id: Expression, data: Json, path: string, allowance: Allowance): string | undefined => {
  try {
    for (let draws = 0; draws < limits.aliasAttempts; draws++) {
      const drawn = idText(id.render({ data }, randomBelow, budgetFor('id', { data }, allowance)))
      if (!id.hasAlias || !holdsLookAlike(drawn)) return drawn
    }
    return undefined
  } catch (error) {
    if (error instanceof ExpressionError) throw invalid({ path, message: error.message })
    throw error
  }
}

const idText = (value: Json): string =>
  typeof value === 'string' ? value : value === null ? '' : JSON.stringify(value)

/**
 * Frees or replaces taken ids where it may. An expired token that the sweeper has not reached yet gives its id back (C17). An
 * alias that hit a taken id is drawn again and, after too many draws, replaced by an id of the vault's own (C16). An id whose
 * holder is gone by now is free. Any other taken id is the caller's conflict.
 */
const replaceTakenIds = async (
  vault: Vault,
  caller: Caller,
  identified: readonly Identified[],
  drawAgain: boolean,
): Promise<void> => {
  const now = vault.clock()
  for (const one of identified) {
    const { definition, id } = one
    if (definition.id === undefined) continue
    const isRepeated = identified.find(other => other.id === id) !== one
    const writes = new TokenWrites(caller)
    const holder = await removeExpired(vault, caller, writes, id)
    if (holder === 'absent' && !isRepeated) continue
    if (holder === 'removed') {
      // The outcome does not matter: in a conflict, another request has removed or changed the holder, and the next round finds
      // the id free or judges its holder anew.
      await commitSet(vault, writes.set)
    } else if (definition.id.hasAlias) one.id = drawAgain ? chooseId(definition, now) : newTokenId(now)
    else throw new VaultError('idTaken')
  }
}
