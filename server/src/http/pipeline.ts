import type { Endpoint } from '../contract/endpoint.ts'
import type { VaultError } from '../domain/errors.ts'
import { type Admit, admit } from './admit.ts'
import { answering } from './answer.ts'
import type { Handle } from './call.ts'
import type { Exchange, Serve } from './exchange.ts'
import { logAnswers } from './log-answers.ts'
import { pathOf } from './path-of.ts'
import type { PipelineOptions } from './pipeline-options.ts'
import { problemSender, type SendProblem } from './send-problem.ts'

/**
 * The life of a request of this endpoint, in the order of C3:
 *
 *   admit    503 → 204 to a preflight → 401 → 429 → 403 permission as such → 415 → 413
 *   answer   the body → idempotent replay or claim → 400 → the operation, which refuses or commits → the answer
 *
 * Before it, the endpoint was found, by `plain/routes.ts` for most requests and by Fastify for all others. Of these, `server.ts`
 * refuses those without a Host or with two, which `plain/read-request.ts` never takes for plain.
 */
export const serve = (options: PipelineOptions, endpoint: Endpoint, handle: Handle): Serve => {
  const sendProblem = problemSender(options, endpoint.path)
  const steps = {
    admit: admit(options, endpoint),
    goOn: answering(options, endpoint, handle, sendProblem),
    sendProblem,
  }
  return logAnswers(options.log, endpoint.path, stepByStep(steps))
}

/** Refuses what leads to no endpoint. A caller without a key is not told why (C3). */
export const refuse = (options: PipelineOptions, refusal: (path: string) => VaultError): Serve => {
  const sendProblem = problemSender(options)
  const steps = {
    admit: admit(options, undefined),
    goOn: (exchange: Exchange): void => sendProblem(exchange, refusal(pathOf(exchange.url))),
    sendProblem,
  }
  return logAnswers(options.log, undefined, stepByStep(steps))
}

type Steps = {
  readonly admit: Admit
  /** Sends its own problems. */
  readonly goOn: (exchange: Exchange) => void | Promise<void>
  readonly sendProblem: SendProblem
}

/** Waits only where a step does. */
const stepByStep =
  ({ admit, goOn, sendProblem }: Steps): Serve =>
  exchange => {
    try {
      const admitted = admit(exchange)
      if (admitted instanceof Promise)
        void admitted.then(
          () => goOn(exchange),
          (error: unknown) => sendProblem(exchange, error),
        )
      else if (admitted === undefined) void goOn(exchange)
    } catch (error) {
      sendProblem(exchange, error)
    }
  }
