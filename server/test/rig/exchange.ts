import { Agent, request } from 'node:http'
import { text } from 'node:stream/consumers'

export type Exchange = {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

const agent = new Agent({ keepAlive: true })

/** One request and its answer. Not `fetch`: that costs five times as much, and the suites send tens of thousands. */
export const exchange = (
  url: string,
  { method, headers, body }: Exchange,
): Promise<{ status: number; headers: Headers; text: string }> =>
  new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }
    const sent = request(url, { method, agent, headers: { ...headers, ...length } }, answer => {
      const { statusCode = 0, headersDistinct } = answer
      const received = new Headers()
      for (const [name, values = []] of Object.entries(headersDistinct))
        for (const value of values) received.append(name, value)
      text(answer).then(content => resolve({ status: statusCode, headers: received, text: content }), reject)
    })
    sent.on('error', reject)
    sent.end(body)
  })
