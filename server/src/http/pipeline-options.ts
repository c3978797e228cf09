import type { Log } from '../domain/log.ts'
import type { Vault } from '../operations/vault/vault.ts'
import type { Cors } from './cors.ts'
import type { Idempotency } from './idempotency.ts'
import type { LoadShedding } from './load-shedding.ts'
import type { LoopTurns } from './loop-turns.ts'
import type { PageRoom } from './page-room.ts'
import type { RateLimit } from './rate-limit.ts'

/** What the steps of a request work with. */
export type PipelineOptions = {
  readonly vault: Vault
  readonly log: Log
  readonly headerPrefix: string
  readonly idempotency: Idempotency
  readonly rateLimit: RateLimit
  readonly cors: Cors
  readonly shedding: LoadShedding
  readonly loopTurns: LoopTurns
  readonly pageRoom: PageRoom
}
