import { traceIdHeader } from '../contract/headers.ts'
import { newUuid } from '../crypto/uuid.ts'

const usable = new RegExp(traceIdHeader.schema.pattern)
const refused = new RegExp(traceIdHeader.refused)

/** The caller's trace id if it is usable, otherwise a new one. */
export const traceId = (sent: string | string[] | undefined): string =>
  typeof sent === 'string' && usable.test(sent) && !refused.test(sent) ? sent : newUuid()
