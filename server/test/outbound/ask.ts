import { type Agent, request } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Server } from './scene.ts'

export type Outcome = { readonly status: number; readonly code: string; readonly ms: number }

/** A request to the proxy, for a destination that it names itself. Undefined if no answer came before the caller left. */
export const ask = (
  agent: Agent,
  server: Server,
  key: string,
  destination: string,
  signal: AbortSignal,
): Promise<Outcome | undefined> =>
  new Promise(resolve => {
    const begun = performance.now()
    const asking = request(`${server.url}/proxy`, {
      agent,
      headers: { 'svc-api-key': key, 'svc-proxy-url': destination },
    })
    // A caller who only closed its side might still wait for the answer.
    const leave = (): void => void asking.socket?.resetAndDestroy()
    signal.addEventListener('abort', leave)
    asking.on('close', () => signal.removeEventListener('abort', leave))
    asking.on('error', () => resolve(undefined))
    asking.on('response', async reply => {
      await text(reply).catch(() => '')
      const code = String(reply.headers['svc-proxy-error'] ?? '')
      resolve({ status: reply.statusCode ?? 0, code, ms: performance.now() - begun })
    })
    asking.end()
  })
