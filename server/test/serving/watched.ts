import { randomBytes } from 'node:crypto'
import { setImmediate as nextIteration } from 'node:timers/promises'
import type { Program, Site } from '../rig/program.ts'
import { Flight } from './flight.ts'

export type Watched = Program & { readonly url: string; readonly metrics: string }

/** A server that serves metrics, on a port that the system chooses. */
export const serveWatched = async (
  site: Site,
  args: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<Watched> => {
  const server = await site.serve(['--metrics-port', '0', ...args], env)
  const { metrics } = JSON.parse(await server.logged('metrics are served'))
  return Object.assign(server, { metrics })
}

/** Asks for paths that nobody has asked for, over several connections. Resolves with how many were answered. */
export const askForRandomPaths = async (url: string, key: string, count: number): Promise<number> => {
  const connections = 16
  const each = count / connections
  const ask = async (): Promise<number> => {
    const flight = new Flight(url)
    let text = ''
    for (let n = 0; n < each; n++)
      text += `GET /${randomBytes(9).toString('base64url')}/${randomBytes(3).toString('hex')} HTTP/1.1\r\nHost: vault\r\nSVC-API-KEY: ${key}\r\n\r\n`
    flight.socket.write(text)
    const answered = (): number => flight.text.split('HTTP/1.1 404 ').length - 1
    let isClosed = false
    void flight.closed.then(() => {
      isClosed = true
    })
    while (answered() < each && !isClosed) {
      const before = flight.text.length
      while (flight.text.length === before && !isClosed) await nextIteration()
    }
    flight.socket.destroy()
    return answered()
  }
  const all = await Promise.all(Array.from({ length: connections }, ask))
  return all.reduce((sum, answered) => sum + answered, 0)
}
