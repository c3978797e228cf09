import { createHash, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { MetricsConfig } from '../../config/config.ts'
import { ConfigError } from '../../config/config-error.ts'
import { isOpenToOthers, readNamedFile } from '../../config/named-file.ts'
import { foreignCode } from '../../domain/foreign-code.ts'
import { describeError } from '../../domain/log.ts'
import { shellWord } from '../../domain/text/terminal.ts'
import type { ProcessLog } from '../log.ts'

/** More scrapers than that at a time wait until one is done. */
const connectionsMax = 16
/** A scraper that takes longer to ask, or to go on, is cut off. */
const askMaxMs = 10_000

export type MetricsServer = { close(): void }

/**
 * Serves metrics to a scraper, on a port of its own: whoever may call the vault need not see them, and they stay reachable while the
 * vault refuses requests. `read` returns the text of this moment. Load this file on demand: Node's server takes 0.05 s to load.
 */
export const serveMetrics = async (
  { host, port: wanted, tokenFile }: MetricsConfig,
  read: () => Promise<string>,
  log: ProcessLog,
): Promise<MetricsServer> => {
  if (tokenFile !== undefined) requireTokenFile(tokenFile)
  const server = createServer(
    {
      requestTimeout: askMaxMs,
      headersTimeout: askMaxMs,
      keepAliveTimeout: askMaxMs,
      maxHeaderSize: 1 << 13,
    },
    (request, response) => {
      const end = (status: number, text: string, headers: Record<string, string> = {}): void => {
        response
          .writeHead(status, { 'content-type': plain, 'cache-control': 'no-store', ...headers })
          .end(text)
      }
      const answer = async (): Promise<void> => {
        const { method, url = '', headers } = request
        if (!(await isAllowed(tokenFile, headers.authorization)))
          return end(401, 'show the token of metrics-token-file\n', { 'www-authenticate': 'Bearer' })
        if (url.replace(/\?.*/s, '') !== '/metrics') return end(404, 'metrics are at /metrics\n')
        if (method !== 'GET' && method !== 'HEAD')
          return end(405, 'metrics are only read\n', { allow: 'GET, HEAD' })
        end(200, await read(), { 'content-type': exposition })
      }
      // Nothing that it may send is of interest.
      request.resume()
      answer().catch(error => {
        log.error(describeError(error), 'metrics could not be read')
        if (!response.headersSent) end(503, 'metrics could not be read\n')
      })
    },
  )
  server.maxConnections = connectionsMax
  server.timeout = askMaxMs
  await listen(server, { host, port: wanted })
  const { port } = server.address() as AddressInfo
  // Not `url`: that is where the vault answers, to scripts that read the log.
  log.info(
    { metrics: `http://${host.includes(':') ? `[${host}]` : host}:${port}/metrics` },
    'metrics are served',
  )
  // What else the process does decides how long it lives.
  server.unref()
  return {
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

const plain = 'text/plain; charset=utf-8'
const exposition = 'text/plain; version=0.0.4; charset=utf-8'

const listen = async (server: Server, { host, port }: { host: string; port: number }): Promise<void> => {
  try {
    await once(server.listen({ host, port, exclusive: true }), 'listening')
  } catch (error) {
    throw new Error(
      `metrics cannot be served on port ${port} of ${host} (${foreignCode(error)}): set --metrics-port and --metrics-host to what is free`,
      { cause: error },
    )
  }
}

const requireTokenFile = (path: string): void => {
  if (readNamedFile(path).trim() === '')
    throw new ConfigError(`${path} is empty: put the token of the scraper in it`)
  if (isOpenToOthers(path))
    throw new ConfigError(`${path} holds a token and is open to others: run chmod 600 ${shellWord(path)}`)
}

/** The file is read each time, so a new token needs no restart. */
const isAllowed = async (tokenFile: string | undefined, shown: string | undefined): Promise<boolean> => {
  if (tokenFile === undefined) return true
  const token = (await readFile(tokenFile, 'utf8')).trim()
  const [, bearer] = /^Bearer +(\S+) *$/i.exec(shown ?? '') ?? []
  return token !== '' && bearer !== undefined && timingSafeEqual(digest(bearer), digest(token))
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
