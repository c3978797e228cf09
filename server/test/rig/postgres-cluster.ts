import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { chmodSync, chownSync, existsSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import pg from 'pg'
import { binaries, serverUser } from './postgres-binaries.ts'

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

const releaseOf = (bin: string): number =>
  Number(/\d+/.exec(execFileSync(join(bin, 'initdb'), ['--version'], { encoding: 'utf8' }))?.[0])

const startsMax = 20
const password = 'password'

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

/**
 * In memory, if there is room. Each database is hundreds of files, which a disk takes much longer to create and delete, and it takes
 * longer to flush what a test commits than the vault takes for everything else.
 */
export const fastPlace = (): string => {
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
  const folder = mkdtempSync(join(fastPlace(), 'strongroom-postgres-'))
  const data = join(folder, 'data')
  const port = options.port ?? (await freePort())
  const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`
  const bin = binaries()
  const user = serverUser()
  const giveToServer = (path: string): void => {
    if (user !== undefined) chownSync(path, user.uid, user.gid)
  }
  giveToServer(folder)
  chmodSync(folder, 0o711)
  const log = new EventEmitter()
  log.setMaxListeners(0)
  let server: ChildProcess | undefined
  const running = (): ChildProcess => {
    if (server === undefined) throw new Error('the server does not run')
    return server
  }
  const run = (program: string, flags: readonly string[]): ChildProcess => {
    const child = spawn(join(bin, program), flags, {
      ...user,
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    if (child.stderr !== null) createInterface(child.stderr).on('line', line => log.emit('line', line))
    return child
  }
  const logged = (text: string): Promise<void> =>
    new Promise(resolve => {
      const look = (line: string): void => {
        if (!line.includes(text)) return
        log.off('line', look)
        resolve()
      }
      log.on('line', look)
    })

  const initialise = async (): Promise<void> => {
    const passwordFile = join(folder, 'password')
    writeFileSync(passwordFile, password)
    giveToServer(passwordFile)
    let said = ''
    log.on('line', line => {
      said += `${line}\n`
    })
    // Without iterations, each connection would hash the password 4,096 times. PostgreSQL 15 knows no better.
    const fewIterations = releaseOf(bin) >= 16 ? ['--set=scram_iterations=1'] : []
    const [code] = await once(
      run('initdb', [
        `--pgdata=${data}`,
        '--username=postgres',
        '--auth=password',
        `--pwfile=${passwordFile}`,
        '--no-sync',
        '--encoding=UTF8',
        '--locale=C',
        ...fewIterations,
      ]),
      'close',
    )
    log.removeAllListeners()
    rmSync(passwordFile)
    if (code !== 0) throw new Error(`initdb ends with ${code}: ${said}`)
  }
  const start = async (): Promise<void> => {
    const flags = Object.entries({ ...settings, ...more }).flatMap(([name, value]) => [
      '-c',
      `${name}=${value}`,
    ])
    const child = run('postgres', ['-D', data, '-p', String(port), ...flags])
    server = child
    const ended = new AbortController()
    child.once('exit', () => ended.abort())
    if (!(await answers(url, ended.signal))) throw new Error('the server does not start')
    // A server that is still up must not keep our process from ending.
    child.unref()
    ;(child.stderr as Socket | null)?.unref()
  }
  /** Waiting for the server to end must keep our process alive. */
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    const child = running()
    server = undefined
    child.ref()
    const ended = once(child, 'exit')
    child.kill(signal)
    await ended
  }
  let frozen: number[] = []
  const thaw = (): boolean => {
    const ids = frozen.splice(0)
    for (const id of ids) signalIfThere(id, 'SIGCONT')
    return ids.length > 0
  }
  const endNow = (): void => {
    thaw()
    server?.kill('SIGQUIT')
    rmSync(folder, { recursive: true, force: true, maxRetries: 20 })
  }
  process.once('exit', endNow)
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    if (process.listenerCount(signal) === 0) process.once(signal, () => process.exit(1))
  try {
    await (options.fill?.(data) ?? initialise())
    await start()
  } catch (error) {
    endNow()
    throw error
  }
  return {
    url,
    port,
    folder,
    data,
    pid: () => running().pid ?? 0,
    restart: async () => {
      await end('SIGINT')
      await start()
    },
    logged,
    kill: async (moment = async () => {}) => {
      const ids = await processesOf(url)
      await moment()
      const ended = end('SIGKILL')
      for (const id of ids) signalIfThere(id, 'SIGKILL')
      await ended
    },
    freeze: async () => {
      frozen = [running().pid ?? 0, ...(await processesOf(url))]
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
      if (server !== undefined) await end('SIGINT')
      process.off('exit', endNow)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Whether the server answers before it ends. Its log does not tell: it may be a file. */
const answers = async (url: string, ended: AbortSignal): Promise<boolean> => {
  while (!ended.aborted) {
    const client = new pg.Client(url)
    client.on('error', () => {})
    try {
      await client.connect()
      await client.end()
      return true
    } catch {
      await new Promise(resolve => setTimeout(resolve, 20))
    }
  }
  return false
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
