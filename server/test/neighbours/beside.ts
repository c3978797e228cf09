import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { certificate } from '../rig/certificates.ts'
import { Site } from '../rig/program.ts'
import type { Attack } from './attack.ts'
import type { FarSide } from './far-side.ts'
import type { Keys, Order, Report, Sample } from './generator.ts'

type Options = {
  readonly workers: number
  readonly seconds: number
  readonly databaseUrl: string | undefined
}
type Memory = { readonly at: number; readonly mib: number }

/** What came of an attack: times as in Date.now(). */
export type Seen = {
  readonly calmFrom: number
  readonly calmUntil: number
  readonly attackFrom: number
  readonly samples: readonly Sample[]
  readonly memory: readonly Memory[]
  readonly report: Report
  /** Lines of the server's log about workers that ended, and what it ended with itself. */
  readonly ends: readonly string[]
  /** Of the processor's time during the attack, what programs took that have nothing to do with it. */
  readonly othersShare: number
}

/** Code is compiled, and caches are filled. */
const warmUpMs = 1_500
const calmMs = 2_500
/** After the attacker has stored what it needs. */
const settleMs = 1_000
export const afterMs = 3_000
const memoryEveryMs = 50

/** Carries an attack out against a server of its own, which nothing has happened to, beside a neighbour who goes on. */
export const carryOutBeside = async (
  attack: Attack,
  { workers, seconds, databaseUrl }: Options,
): Promise<Seen> => {
  const site = new Site()
  const env = databaseUrl === undefined ? {} : { STRONGROOM_DATABASE_URL: databaseUrl }
  const own = certificate('localhost')
  const files = { cert: site.file('cert.pem', own.cert), key: site.file('key.pem', own.key) }
  const tls = attack.isTls ? ['--tls-cert', files.cert, '--tls-key', files.key] : []
  const started: ChildProcess[] = []
  const startProcess = (file: string, ...args: readonly string[]): ChildProcess => {
    const child = fork(join(import.meta.dirname, file), args, {
      env: { ...process.env, NODE_EXTRA_CA_CERTS: files.cert },
    })
    started.push(child)
    return child
  }
  const farSide = attack.callsOut ? await nextMessage<FarSide>(startProcess('far-side.ts')) : undefined
  const outbound =
    farSide === undefined
      ? []
      : [
          ...['--outbound-ca', site.file('far-side.pem', farSide.ca)],
          ...['--outbound-dns', farSide.dns],
          ...['--outbound-allow', `127.0.0.1:${farSide.port}`],
          ...['--outbound-ports', String(farSide.port)],
        ]
  const server = await site.serve(['--workers', String(workers), ...tls, ...outbound], env)
  const start = async (order: Omit<Order, 'url'>): Promise<ChildProcess> => {
    const child = startProcess('generator.ts', JSON.stringify({ url: server.url, ...order } satisfies Order))
    await nextMessage(child)
    return child
  }
  const tenant = async (name: string): Promise<Keys> => {
    const vault = databaseUrl === undefined ? site.vault : site.keys
    const { code, stdout, stderr } = await site.run(
      ['tenant', 'create', '--name', name, '--json', ...vault],
      env,
    )
    assert.equal(code, 0, stderr)
    return JSON.parse(stdout)
  }
  const memory: Memory[] = []
  const looking = setInterval(
    () => memory.push({ at: Date.now(), mib: memoryMiB(server.pid) }),
    memoryEveryMs,
  )
  try {
    const victim = await start({ keys: await tenant('Victim') })
    await sleep(warmUpMs)
    const calmFrom = Date.now()
    await sleep(calmMs)
    const calmUntil = Date.now()
    const attacker = await start({
      keys: await tenant('Attacker'),
      attack: attack.name,
      farUrl: farSide?.url,
    })
    await sleep(settleMs)
    const attackFrom = Date.now()
    const before = processorTime()
    attacker.send('begin')
    await sleep(seconds * 1_000)
    attacker.send('stop')
    const othersShare = othersSince(before)
    const [report] = await Promise.all([nextMessage<Report>(attacker), sleep(afterMs)])
    await sleep(Math.max(0, report.endedAt + afterMs - Date.now()))
    victim.send('stop')
    const samples = await nextMessage<Sample[]>(victim)
    const ends = server.stderr.split('\n').filter(line => /"msg":"(?:a worker|giving up)/.test(line))
    if (server.child.exitCode !== null || server.child.signalCode !== null)
      ends.push(`the server ended: ${server.stderr.slice(-500)}`)
    return { calmFrom, calmUntil, attackFrom, samples, memory, report, ends, othersShare }
  } finally {
    clearInterval(looking)
    for (const child of started) child.kill('SIGKILL')
    // A worker that is busy would notice that its primary is gone only later, and take part in what is measured next.
    for (const pid of family(server.pid).reverse()) kill(pid)
    await site.remove()
  }
}

const nextMessage = async <Message>(child: ChildProcess): Promise<Message> => {
  const over = new AbortController()
  const { signal } = over
  const ended = once(child, 'exit', { signal }).then(() => {
    throw new Error('the process that sends requests ended')
  })
  try {
    const [message] = await Promise.race([once(child, 'message', { signal }), ended])
    return message
  } finally {
    over.abort()
    await ended.catch(() => {})
  }
}

const kill = (pid: number): void => {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It ended with its primary.
  }
}

/** The process and all that it started. */
const family = (pid: number): number[] => {
  try {
    const children = readdirSync(`/proc/${pid}/task`).flatMap(thread =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' '),
    )
    return [pid, ...children.filter(text => text !== '').flatMap(text => family(Number(text)))]
  } catch {
    return [pid]
  }
}

type ProcessorTime = { readonly all: number; readonly busy: number; readonly ours: number }

/** In ticks of the system, up to now. Programs that ended are those of others. */
const processorTime = (): ProcessorTime => {
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n')
  const ticks = line.split(/ +/).slice(1, 9).map(Number)
  const all = ticks.reduce((sum, each) => sum + each, 0)
  const ours = family(process.pid).reduce((sum, pid) => sum + ticksOf(pid), 0)
  return { all, busy: all - (ticks[3] ?? 0) - (ticks[4] ?? 0), ours }
}

const othersSince = (before: ProcessorTime): number => {
  const now = processorTime()
  return Math.max(0, now.busy - before.busy - (now.ours - before.ours)) / (now.all - before.all)
}

const ticksOf = (pid: number): number => {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return Number(fields[11]) + Number(fields[12])
  } catch {
    return 0
  }
}

const memoryMiB = (server: number): number =>
  family(server).reduce((sum, pid) => {
    try {
      const status = readFileSync(`/proc/${pid}/status`, 'utf8')
      return sum + Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1_024
    } catch {
      return sum
    }
  }, 0)
