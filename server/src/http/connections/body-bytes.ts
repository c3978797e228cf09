import type { IncomingMessage, ServerResponse } from 'node:http'
import { VaultError } from '../../domain/errors.ts'
import { limits } from '../../domain/limits.ts'

/** Reads a body of any type that arrives after its head. */
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
    /** The rest is still read. If the connection ended now, most clients would still be sending and would miss the answer. */
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
      // Copied, not collected in a list: a body in chunks of one byte would take two hundred times its length.
      if (end > kept.length) {
        const room = announced > 0 ? announced : Math.min(2 * end, limits.bodyBytes)
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
    // The client has left, and nobody will read the answer.
    request.on('error', () => reject(new VaultError('invalidHttp')))
  })
}

/**
 * Such a client sends its body when it is asked to, or after a while (RFC 9110, 10.1.1). If it is not asked, Node ends the
 * connection with the answer, because it could not tell the next request from a body that may or may not come. A client of
 * HTTP/1.0 would take the 100 for its answer.
 */
const expectsToBeAsked = ({ headers, httpVersion }: IncomingMessage): boolean =>
  httpVersion !== '1.0' && headers.expect?.toLowerCase() === '100-continue'

const tooLarge = (): VaultError => new VaultError('bodyTooLarge')
