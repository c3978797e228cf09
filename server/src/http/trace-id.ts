import { newUuid } from '../crypto/random.ts'

const usable = /^[A-Za-z0-9._-]{8,64}$/
/** A card number sent as a trace id must not reach a header or a log (C4). */
const digitRun = /\d{12}/

/** The caller's trace id where it can be used, else a new one. */
export const traceId = (sent: string | string[] | undefined): string =>
  typeof sent === 'string' && usable.test(sent) && !digitRun.test(sent) ? sent : newUuid()
