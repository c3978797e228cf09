import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
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

/**
 * Asks for paths that nobody has asked for, over several connections. Resolves with how many got which status: a machine that is busy
 * with other things may make some wait too long, which is a 503.
 */
export const askForRandomPaths = async (
  url: string,
  key: string,
  count: number,
): Promise<{ notFound: number; overloaded: number }> => {
  const connections = 16
  const each = count / connections
  const ask = async (): Promise<string> => {
    const flight = new Flight(url)
    let text = ''
    for (let n = 0; n < each; n++)
      text += `GET /${randomBytes(9).toString('base64url')}/${randomBytes(3).toString('hex')} HTTP/1.1\r\nHost: vault\r\nSVC-API-KEY: ${key}\r\n\r\n`
    flight.socket.write(text)
    while (times(flight.text, 'HTTP/1.1 ') < each && !flight.socket.closed)
      await Promise.race([once(flight.socket, 'data'), flight.closed])
    flight.socket.destroy()
    return flight.text
  }
  const answers = (await Promise.all(Array.from({ length: connections }, ask))).join('')
  return { notFound: times(answers, 'HTTP/1.1 404 '), overloaded: times(answers, 'HTTP/1.1 503 ') }
}

const times = (text: string, part: string): number => text.split(part).length - 1
