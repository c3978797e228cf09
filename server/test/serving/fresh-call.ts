import { type Agent, request } from 'node:http'
import type { Reply } from '../rig/program.ts'

/** One request on a new connection, which any worker may take, or on the agent's connection. */
export const freshCall = (
  baseUrl: string,
  method: string,
  path: string,
  key: string,
  body?: unknown,
  headers: Record<string, string> = {},
  agent: Agent | false = false,
): Promise<Reply> =>
  new Promise((resolve, reject) => {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
    const sent = request(
      baseUrl + path,
      {
        method,
        agent,
        headers: { 'svc-api-key': key, ...(body !== undefined && { 'content-type': type }), ...headers },
      },
      async reply => {
        let text = ''
        try {
          for await (const chunk of reply.setEncoding('utf8')) text += chunk
          resolve({ status: reply.statusCode ?? 0, body: text === '' ? undefined : JSON.parse(text) })
        } catch (error) {
          reject(error)
        }
      },
    )
    sent.on('error', reject)
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  })
