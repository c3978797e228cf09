import type { JsonObject } from './json/json.ts'
import { formatInstant, type Instant } from './time/instant.ts'

/** Who made a thing and who changed it last. */
export type Authorship = {
  readonly createdBy: string
  readonly createdAt: Instant
  readonly modifiedBy?: string
  readonly modifiedAt?: Instant
}

/** When it is changed now: a clock that was set back puts no change before the one that it follows. */
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
