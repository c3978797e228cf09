import type { DetokenizeQuery } from '../../contract/use/detokenize-query.ts'
import { decisionFor } from '../../domain/access/access.ts'
import { type Issue, invalid, requireNone, VaultError } from '../../domain/errors.ts'
import { Budget } from '../../domain/expressions/budget.ts'
import { ExpressionError } from '../../domain/expressions/expression-error.ts'
import { type Json, stringify } from '../../domain/json/json.ts'
import { limits } from '../../domain/limits.ts'
import { literalsWithBraces, placesOf, withLiterals } from '../../domain/rendering/json-literals.ts'
import { AbsentTokenError, assemble, evaluate, type ShownToken } from '../../domain/rendering/render.ts'
import {
  isExpression,
  readTemplate,
  type TemplatePart,
  type TokenTemplate,
} from '../../domain/rendering/template.ts'
import type { Token } from '../../domain/tokens/token.ts'
import type { Caller, Vault } from '../vault/vault.ts'
import { loadTokens } from './load-tokens.ts'
import { shownToken } from './shown-token.ts'

/** The payload with its values; with `missing=null`, how many strings became null. */
export type Detokenized = { readonly text: string; readonly absentLeaves: number | undefined }

type Leaf = { readonly start: number; readonly end: number; readonly template: TokenTemplate }
type Fault = { readonly start: number; readonly message: string }

/** A longer answer counts as memory of the caller's before it is there: as a text, and as the bytes that nobody has read yet. */
const answerUnaskedBytes = 1 << 17

/**
 * U1: a read of all tokens that a payload names. The payload is a JSON text and stays one: only the strings that hold expressions are
 * replaced, so numbers come back to the digit, and nothing that comes out of a token is ever parsed.
 */
export const detokenize = async (
  vault: Vault,
  caller: Caller,
  body: Buffer,
  { absentIsNull }: DetokenizeQuery,
): Promise<Detokenized> => {
  const text = `${body.toString('utf8').trimEnd()}\n`
  const { leaves, ids } = await readLeaves(text, caller)
  const shown = await showTokens(vault, caller, ids, absentIsNull)
  const request = new Budget(limits.expressionStepsPerRequest)
  const values = { token: (id: string) => shown.get(id) }
  const replaced: { start: number; end: number; json: string }[] = []
  const faults: Fault[] = []
  const heldBefore = caller.memory?.held ?? 0
  let bytes = body.length
  let absentLeaves = 0
  for (const { start, end, template } of leaves) {
    const results: Json[] = []
    let json = 'null'
    try {
      for (const part of template.parts) {
        if (!isExpression(part)) continue
        if (!caller.work.hasTurn) await caller.work.turn()
        results.push(evaluate(template, part, values, request))
      }
      json = stringify(assemble(template, results))
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error
      if (absentIsNull && error instanceof AbsentTokenError) absentLeaves++
      else if (faults.push({ start, message: error.message }) >= limits.errorsPerAnswer) break
    }
    bytes += Buffer.byteLength(json) - (end - start)
    if (bytes > limits.detokenizeAnswerBytes) throw tooLong()
    if (bytes > answerUnaskedBytes && caller.memory?.hold(heldBefore + 2 * bytes) === false)
      throw new VaultError('overloaded')
    replaced.push({ start, end, json })
  }
  requireNone(issuesOf(text, faults))
  return { text: withLiterals(text, replaced), absentLeaves: absentIsNull ? absentLeaves : undefined }
}

/** The strings that hold expressions, and the ids that these name. What is wrong with the text of an expression is found here. */
const readLeaves = async (text: string, caller: Caller): Promise<{ leaves: Leaf[]; ids: Set<string> }> => {
  const leaves: Leaf[] = []
  const ids = new Set<string>()
  const faults: Fault[] = []
  let expressions = 0
  for (const { start, end, decoded } of literalsWithBraces(text)) {
    if (!caller.work.hasTurn) await caller.work.turn()
    if (decoded === undefined) continue
    const parts: TemplatePart[] = []
    try {
      for (const part of readTemplate(decoded, 'detokenize')) {
        parts.push(part)
        if (!isExpression(part)) continue
        if (!caller.work.hasTurn) await caller.work.turn()
        if ('id' in part.source) ids.add(part.source.id)
        if (++expressions > limits.detokenizeExpressions) throw tooMany('hold', 'Expressions')
        if (ids.size > limits.detokenizeTokens) throw tooMany('name', 'Tokens')
      }
      leaves.push({ start, end, template: { text: decoded, parts } })
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error
      if (faults.push({ start, message: error.message }) >= limits.errorsPerAnswer) break
    }
  }
  requireNone(issuesOf(text, faults))
  return { leaves, ids }
}

/** The tokens that the caller may read, each under its transform. All of them count as shown, whatever filters make of them. */
const showTokens = async (
  vault: Vault,
  caller: Caller,
  ids: ReadonlySet<string>,
  absentIsNull: boolean,
): Promise<Map<string, ShownToken>> => {
  const tokens = await loadTokens(vault, caller, ids)
  const now = vault.clock()
  const shown = new Map<string, ShownToken>()
  const active: Token[] = []
  for (const id of ids) {
    const token = tokens.get(id)
    if (token === undefined) continue
    const decision = decisionFor(caller.application, 'token:read', token.containers)
    if (decision === undefined) {
      // A refusal names what is hidden; an answer shows nothing of it.
      if (!absentIsNull) caller.act.finds(id)
      continue
    }
    active.push(token)
    caller.act.touches(token, 'token:read', decision)
    shown.set(id, shownToken(vault, token, decision.transform, now))
  }
  vault.activity.note(caller.tenantNumber, active, now)
  return shown
}

const issuesOf = (text: string, faults: readonly Fault[]): Issue[] => {
  const places = placesOf(
    text,
    faults.map(({ start }) => start),
  )
  return faults.map(({ message }, index) => ({ path: places[index] ?? '$', message }))
}

const tooMany = (verb: string, what: 'Expressions' | 'Tokens'): VaultError =>
  invalid({
    path: '$',
    message: `must ${verb} at most ${limits[`detokenize${what}`]} ${what.toLowerCase()}`,
  })

const tooLong = (): VaultError =>
  invalid({ path: '$', message: `the answer would have more than ${limits.detokenizeAnswerBytes} bytes` })
