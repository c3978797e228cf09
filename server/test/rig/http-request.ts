import { Agent, request } from 'node:http'

export type HttpRequest = {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  /** The target to the byte, in place of the URL's: no dots are resolved. */
  readonly target?: string
}

const agent = new Agent({ keepAlive: true })

/** One request and its answer. Not `fetch`, which costs five times as much: the suites send tens of thousands. */
export const httpRequest = (
  url: string,
  { method, headers, body, target }: HttpRequest,
): Promise<{ status: number; headers: Headers; text: string }> =>
  new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }
    const sent = request(
      url,
      { method, agent, headers: { ...headers, ...length }, ...(target && { path: target }) },
      answer => {
        const { statusCode = 0, headersDistinct } = answer
        const received = new Headers()
        for (const [name, values = []] of Object.entries(headersDistinct))
          for (const value of values) received.append(name, value)
        // Not `node:stream/consumers`: the promises of its loop take a quarter of the whole exchange.
        let text = ''
        answer.setEncoding('utf8')
        answer.on('data', (piece: string) => {
          text += piece
        })
        answer.on('end', () => resolve({ status: statusCode, headers: received, text }))
        answer.on('error', reject)
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })
