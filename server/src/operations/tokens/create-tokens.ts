import { firstVersion } from '../../crypto/random.ts'
import { requireDestinations, writeDecision } from '../../domain/access/access.ts'
import type { Json } from '../../domain/json/json.ts'
import { type Instant, monthOf } from '../../domain/time/instant.ts'
import type { Token, Writable } from '../../domain/tokens/token.ts'
import type { TokenDefinition } from '../../domain/tokens/token-definition.ts'
import type { Caller, Idempotent, Vault } from '../vault/vault.ts'
import { type Changes, commit } from '../writing/commit.ts'
import { requireAttemptsLeft } from '../writing/retry-on-conflict.ts'
import { chooseId, type Identified } from './choose-id.ts'
import { fingerprintFor, isDeduplicated, matchOf } from './deduplication/match.ts'
import { RequestMatches } from './deduplication/request-matches.ts'
import { indexTermsOf } from './index-entries.ts'
import { replaceTakenIds } from './replace-taken-ids.ts'
import { TokenWrites } from './token-writes.ts'

export type CreatedToken = { readonly token: Token; readonly deduplicated: boolean }

/** How the answer is made: what it shows of each token, and how these parts become the whole. */
type AnswerShape<Shown extends Json, Answer extends Json> = {
  readonly show: (created: CreatedToken, index: number) => Shown
  readonly answer: (shown: readonly Shown[]) => Answer
  /** What else the write set changes. All of it is committed, or none. */
  readonly alongside?: (answer: Answer) => Pick<Changes, 'guarded' | 'counters'>
}

/**
 * Creates all of the tokens or none. This is the core of createToken and tokenize, which shape the answer. A single token is
 * prepared without a pause. A thousand may take seconds, in which other requests are answered.
 */
export const createTokens = async <Shown extends Json, Answer extends Json>(
  vault: Vault,
  caller: Caller,
  definitions: readonly TokenDefinition[],
  { show, answer: answerFor, alongside }: AnswerShape<Shown, Answer>,
  idempotent?: Idempotent,
): Promise<Answer> => {
  const now = vault.clock()
  const { work } = caller
  let identified: Identified[] = []
  for (const definition of definitions) {
    if (!work.hasTurn) await work.turn()
    identified.push({ definition, ...chooseId(definition, now), attempts: 1, wasTaken: false })
  }
  for (const definition of definitions)
    requireDestinations(caller.application, 'token:create', definition.content.containers)
  const someDeduplicated = definitions.some(({ content }) => isDeduplicated(caller, content.deduplicate))
  for (let attempts = 0; ; attempts++) {
    requireAttemptsLeft(attempts)
    const createdAt = vault.clock()
    const writes = new TokenWrites(caller)
    const matches = someDeduplicated ? new RequestMatches(vault, caller, writes) : undefined
    const inserted: Identified[] = []
    const shown: Shown[] = []
    for (const each of identified) {
      if (!work.hasTurn) await work.turn()
      const token = newToken(caller, each, createdAt)
      const existing = matches && (await findOrNote(caller, matches, token))
      if (existing === undefined) {
        writes.insert(token)
        inserted.push(each)
      }
      const made = { token: existing ?? token, deduplicated: existing !== undefined }
      caller.act.touches(
        made.token,
        'token:create',
        writeDecision(caller.application, 'token:create', made.token),
        made.deduplicated,
      )
      shown.push(show(made, shown.length))
    }
    const answer = answerFor(shown)
    const { changes } = writes
    const more = alongside?.(answer)
    const all = more === undefined ? changes : withMore(changes, more)
    const outcome = await commit(vault, caller, all, answer, idempotent)
    if (outcome.committed) return answer
    if (outcome.conflict === 'tokenExists')
      identified = await replaceTakenIds(vault, caller, identified, new Set(inserted))
  }
}

/** What is alongside comes first: of several conflicts, its own is told. */
const withMore = (changes: Changes, more: Pick<Changes, 'guarded' | 'counters'>): Changes => ({
  ...changes,
  guarded: [...more.guarded, ...changes.guarded],
  counters: [...changes.counters, ...more.counters],
})

/** Returns the token that already stands for the same value, or undefined for a token to be created. */
const findOrNote = async (
  caller: Caller,
  matches: RequestMatches,
  token: Token,
): Promise<Token | undefined> => {
  const match = matchOf(caller, token)
  if (match === undefined) return undefined
  const existing = isDeduplicated(caller, token.deduplicate)
    ? await matches.findOrClaim(match, token)
    : undefined
  if (existing === undefined) matches.note(match, token)
  return existing
}

const newToken = (
  caller: Caller,
  { definition: { content }, id, isChosen }: Identified,
  now: Instant,
): Token => {
  const token: Writable<Token> = {
    ...content,
    id,
    tenantId: caller.tenant.id,
    indexTerms: indexTermsOf(caller, content),
    version: firstVersion(),
    activeMonth: monthOf(now),
    createdBy: caller.application.id,
    createdAt: now,
  }
  if (isChosen) token.hasChosenId = true
  const fingerprint = fingerprintFor(caller, content)
  if (fingerprint !== undefined) token.fingerprint = fingerprint
  return token
}
