import { invalid } from '../errors.ts'
import { Budget } from '../expressions/budget.ts'
import { sizeOf } from '../expressions/size.ts'
import type { Json } from '../json/json.ts'
import { limits } from '../limits.ts'

/** What all definitions of one request together may still cost. */
export class RequestCosts {
  readonly budget: Budget
  #terms = 0

  constructor(body: Json) {
    this.budget = new Budget(limits.expressionStepsPerRequest, () => sizeOf(body))
  }

  /** Throws if there are too many, before anything is rendered for the token that brings them. */
  addTerms(count: number): void {
    this.#terms += count
    requireFewTerms(this.#terms)
  }
}

/** C8: what a request makes the vault write into its index is limited. */
export const requireFewTerms = (count: number): void => {
  if (count > limits.termsPerRequest) throw invalid({ path: '$', message: tooManyTerms })
}

const tooManyTerms = `must make at most ${limits.termsPerRequest} index entries: each token has one for its fingerprint, each container and each level above it, each metadata key and each search index`
