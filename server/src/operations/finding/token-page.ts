import type { JsonObject } from '../../domain/json/json.ts'
import type { Caller, Vault } from '../vault/vault.ts'
import { countTokens } from './count-tokens.ts'
import { type Found, findByIndex } from './find-by-index.ts'
import { findByOpening } from './find-by-opening.ts'
import { numberedPage } from './numbered-page.ts'
import type { Planned } from './planned.ts'
import { showTokens } from './show-tokens.ts'

export type TokenPage = {
  readonly answer: JsonObject
  /** How many rows were read and opened. */
  readonly opened: number
}

/** C24: a page of tokens that is asked for by its number, with an exact count. */
export const tokenPage = async (
  vault: Vault,
  caller: Caller,
  planned: Planned,
  { page, size }: { page: number; size: number },
): Promise<TokenPage> => {
  const position = { offset: (page - 1) * size, limit: size }
  const { rows, total, opened } = await find(vault, caller, planned, position)
  const shown = await showTokens(vault, caller, rows, planned.matches)
  return { answer: numberedPage({ page, size, total }, shown), opened }
}

const find = (
  vault: Vault,
  caller: Caller,
  { query, matches, isExact, onlyTerms }: Planned,
  position: { offset: number; limit: number },
): Promise<Found> =>
  isExact
    ? findByIndex(vault, query, position, () => countTokens(vault, caller, query, onlyTerms))
    : findByOpening(vault, caller, query, matches, position)
