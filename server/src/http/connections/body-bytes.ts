import type { IncomingMessage, ServerResponse } from 'node:http'
import { VaultError } from '../../domain/errors.ts'
import { limits } from '../../domain/limits.ts'

/** The bytes of a body of any type that arrives after its head. */
export const bodyBytes = async (
  request: IncomingMessage,
  response: ServerResponse,
  mayHold: (bytes: number) => boolean,
): Promise<Buffer> => {
  const announced = Number(request.headers['content-length'] ?? 0)
  if (announced > limits.bodyBytes) throw tooLarge()
  if (!mayHold(announced)) throw new VaultError('overloaded')
  if (expectsToBeAsked(request)) response.writeContinue()
  return new Promise((resolve, reject) => {
    let kept = Buffer.alloc(0)
    let length = 0
    /** The rest is read all the same: if the connection ended now, most clients would still be sending and miss the answer. */
    const refuse = (reason: VaultError): void => {
      kept = Buffer.alloc(0)
      request.off('data', keep)
      request.resume()
      reject(reason)
    }
    const keep = (chunk: Buffer): void => {
      const end = length + chunk.length
      if (end > limits.bodyBytes) {
        refuse(tooLarge())
        return
      }
      // Copied, not listed: a body in chunks of a byte would take up two hundred times its length.
      if (end > kept.length) {
        const room = Math.min(Math.max(2 * end, announced), limits.bodyBytes)
        if (!mayHold(room)) {
          refuse(new VaultError('overloaded'))
          return
        }
        kept = Buffer.concat([kept], room)
      }
      length += chunk.copy(kept, length)
    }
    request.on('data', keep)
    request.on('end', () => resolve(kept.subarray(0, length)))
    // The client broke off: nobody will read the answer.
    request.on('error', () => reject(new VaultError('badRequest')))
  })
}

/**
 * Such a client sends its body once it is asked for, or after waiting long enough (RFC 9110, 10.1.1). If it was not asked, Node
 * ends the connection with the answer, because the next request could not be told from a body that may or may not come. One of
 * HTTP/1.0 would take the question for its answer.
 */
const expectsToBeAsked = ({ headers, httpVersion }: IncomingMessage): boolean =>
  httpVersion !== '1.0' && headers.expect?.toLowerCase() === '100-continue'

const tooLarge = (): VaultError => new VaultError('bodyTooLarge')
