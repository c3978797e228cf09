import { limits } from '../limits.ts'
import type { Instant } from '../time/instant.ts'
import { metadataTerm, type Term } from '../tokens/index-terms.ts'
import type { ListPosition } from '../tokens/list-position.ts'
import { searchIndexesInForce, type Token } from '../tokens/token.ts'
import { type SketchState, TermSketch } from './term-sketch.ts'

/** How much an index gives away: if terms are few, or one is common, counting entries is enough to guess values. */
export type IndexFigures = {
  readonly kind: IndexKind
  /** The expression of a search index, or the metadata key. */
  readonly name: string
  /** How many tokens have a term in it. */
  readonly tokens: number
  readonly distinct: number
  readonly largestShare: number
}
export type IndexKind = 'search_index' | 'metadata'

export type IndexReport = {
  readonly computedAt: Instant
  readonly tokens: number
  readonly indexes: readonly IndexFigures[]
  /** False if there were more indexes than a report holds. */
  readonly isComplete: boolean
}

/** A pass over all tokens of a tenant, newest first, as far as it has come. */
export type ReportPass = {
  /** The token after which the pass continues. */
  readonly after?: ListPosition
  readonly tokens: number
  readonly sketches: readonly (readonly [kind: IndexKind, name: string, state: SketchState])[]
  readonly isComplete: boolean
}

/** A sketch takes whole numbers of 48 bits. */
const sketchedBytes = 6

/** Gathers the figures of a pass. `hash` turns a term into what the index knows it by. */
export class IndexSurvey {
  readonly #hash: (term: Term) => Buffer
  readonly #sketches = new Map<string, { kind: IndexKind; name: string; sketch: TermSketch }>()
  #tokens: number
  #isComplete: boolean

  constructor(hash: (term: Term) => Buffer, pass?: ReportPass) {
    this.#hash = hash
    this.#tokens = pass?.tokens ?? 0
    this.#isComplete = pass?.isComplete ?? true
    for (const [kind, name, state] of pass?.sketches ?? [])
      this.#sketches.set(`${kind} ${name}`, { kind, name, sketch: new TermSketch(state) })
  }

  add(token: Token): void {
    this.#tokens++
    for (const [key, value] of Object.entries(token.metadata ?? {}))
      this.#note('metadata', key, this.#hash(metadataTerm(key, value)))
    for (const [at, expression] of searchIndexesInForce(token).entries()) {
      const term = token.indexTerms[at]
      if (typeof term === 'string') this.#note('search_index', expression, Buffer.from(term, 'base64'))
    }
  }

  passUpTo(after: NonNullable<ReportPass['after']>): ReportPass {
    return {
      after,
      tokens: this.#tokens,
      sketches: [...this.#sketches.values()].map(({ kind, name, sketch }) => [kind, name, sketch.state]),
      isComplete: this.#isComplete,
    }
  }

  /** The indexes that give away the most come first. */
  report(computedAt: Instant): IndexReport {
    const indexes = [...this.#sketches.values()].map(({ kind, name, sketch }) => ({
      kind,
      name,
      tokens: sketch.tokens,
      distinct: sketch.distinct,
      largestShare: sketch.largestShare,
    }))
    indexes.sort((a, b) => b.largestShare - a.largestShare || a.distinct - b.distinct)
    return { computedAt, tokens: this.#tokens, indexes, isComplete: this.#isComplete }
  }

  #note(kind: IndexKind, name: string, hash: Buffer): void {
    const id = `${kind} ${name}`
    let known = this.#sketches.get(id)
    if (known === undefined) {
      if (this.#sketches.size >= limits.reportIndexes) {
        this.#isComplete = false
        return
      }
      known = { kind, name, sketch: new TermSketch() }
      this.#sketches.set(id, known)
    }
    known.sketch.add(hash.readUIntBE(0, sketchedBytes))
  }
}
