import type { JsonObject } from './json/json.ts'
import { formatInstant, type Instant } from './time/instant.ts'

/** Who created something and who changed it last, and when. */
export type Authorship = {
  readonly createdBy: string
  readonly createdAt: Instant
  readonly modifiedBy?: string
  readonly modifiedAt?: Instant
}

/** The time of a change made now: never before the creation or the previous change, even if the clock was set back. */
export const modifiedNow = (
  { createdAt, modifiedAt = createdAt }: Pick<Authorship, 'createdAt' | 'modifiedAt'>,
  now: Instant,
): Instant => Math.max(now, createdAt, modifiedAt)

export const viewAuthorship = ({ createdBy, createdAt, modifiedBy, modifiedAt }: Authorship): JsonObject => ({
  created_by: createdBy,
  created_at: formatInstant(createdAt),
  ...(modifiedBy !== undefined && { modified_by: modifiedBy }),
  ...(modifiedAt !== undefined && { modified_at: formatInstant(modifiedAt) }),
})
