import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { createServer, type Server as NetServer } from 'node:net'
import { setPriority } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { limits } from '../../src/domain/limits.ts'
import type { Sample } from '../neighbours/generator.ts'
import type { Reply } from '../rig/destination.ts'
import { ask } from './ask.ts'
import type { Keys, Scenario, Scene, Server } from './scene.ts'

const callersPerTenant = 200
const tenants = 5
const rounds = 3
const calmMs = 8_000
const attackMs = 8_000
/** How long an attack takes to begin and to end. */
const settleMs = 2_000
/** A call that has waited so long is under way: who is refused is told at once. */
const underWayMs = 1_000
/** Who is refused is patient: a flood of requests is another attack. */
const retryMs = 5_000
const niceness = 5
/** A p99 of 6 ms is 10 ms at another time, on a machine that is quiet. */
const p99Times = 2
const p99FreeMs = 10
/** After its deadline, an answer may take this long on a busy machine. */
const lateMaxMs = 1_500

/** Fewer than a tenant may have calls under way, so that none is refused. */
const leavers = 40
const staysMs = 100
const leavingMs = 8_000
/** Certificates, files of storage and the like, opened meanwhile. */
const descriptorsBeside = 60

const head = 'HTTP/1.1 200 OK\r\n'
const dripping =
  (begin: string, drop: string, everyMs: number): Reply =>
  socket => {
    socket.write(begin)
    const timer = setInterval(() => socket.write(drop), everyMs)
    socket.on('close', () => clearInterval(timer))
  }

/** Ways to hang, and after how long the vault gives up (U16). */
const replies: Readonly<Record<string, { reply: Reply; ms: number }>> = {
  silent: { reply: () => {}, ms: limits.destinationFirstByteMs },
  'head-drips': { reply: dripping(head, 'X: 1\r\n', 2_000), ms: limits.destinationFirstByteMs },
  'body-stops': { reply: `${head}Content-Length: 9\r\n\r\nx`, ms: limits.destinationBetweenBytesMs },
  'body-drips': {
    reply: dripping(`${head}Content-Length: 99\r\n\r\n`, 'x', 5_000),
    ms: limits.destinationTotalMs,
  },
}
const deadlineOf = new Map([
  ...Object.entries(replies).map(([name, { ms }]) => [name, ms] as const),
  ['dns-hangs', limits.destinationDnsMs],
  ['connect-hangs', limits.destinationConnectMs],
  ['tls-hangs', limits.destinationConnectMs],
])
const named = (kind: string): string => `${kind}.partner.example`

/** Destinations that hang in every way. Returns their URLs by name, and what ends them. */
const hangingDestinations = async (
  scene: Scene,
): Promise<{ urls: ReadonlyMap<string, string>; stop: () => void }> => {
  const urls = new Map<string, string>()
  const place = (kind: string, port: number): void => {
    scene.reachable(named(kind), port)
    urls.set(kind, `https://${named(kind)}:${port}/`)
  }
  for (const [kind, { reply }] of Object.entries(replies)) {
    const destination = await scene.destination(named(kind))
    destination.reply = reply
    place(kind, destination.port)
  }
  const quiet: NetServer = createServer(() => {}).listen(0, '127.0.0.1')
  await once(quiet, 'listening')
  const address = quiet.address()
  place('tls-hangs', typeof address === 'object' ? (address?.port ?? 0) : 0)
  // Nobody accepts: once its queue is full, the kernel drops whatever asks for a connection.
  const deaf = spawn(process.execPath, [
    '-e',
    `const server = require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
      require('node:fs').writeSync(1, server.address().port + '\\n')
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
    })`,
  ])
  const [told] = await once(deaf.stdout, 'data')
  const deafPort = Number(String(told))
  place('connect-hangs', deafPort)
  const waiting = Array.from({ length: 4 }, () => fillQueue(deafPort))
  place('dns-hangs', deafPort)
  scene.dns.set(named('dns-hangs'), 'silent')
  const stop = (): void => {
    for (const each of waiting) each.destroy()
    deaf.kill('SIGKILL')
    quiet.close()
  }
  return { urls, stop }
}

const fillQueue = (port: number) => {
  const asking = request({ host: '127.0.0.1', port }).on('error', () => {})
  asking.flushHeaders()
  return asking
}

/** Callers that ask for destinations that hang, and again as soon as they may, until they are told to leave. */
class Crowd {
  readonly outcomes = new Map<string, number>()
  readonly #over = new AbortController()
  readonly #since = new Map<number, { tenant: number; at: number }>()
  readonly #done: Promise<unknown>

  constructor(server: Server, keys: readonly string[], destinations: readonly string[]) {
    const agent = new Agent({ keepAlive: true })
    const callers = keys.flatMap((key, tenant) =>
      Array.from({ length: callersPerTenant }, (_, number) => ({
        key,
        tenant,
        number: tenant * callersPerTenant + number,
      })),
    )
    this.#done = Promise.all(
      callers.map(async ({ key, tenant, number }) => {
        await this.#wait((settleMs * number) / callers.length)
        for (let round = 0; !this.#over.signal.aborted; round++) {
          this.#since.set(number, { tenant, at: performance.now() })
          const url = destinations[(number + round) % destinations.length] ?? ''
          const outcome = await ask(agent, server, key, url, this.#over.signal)
          this.#since.delete(number)
          if (outcome === undefined) continue
          const told = `${outcome.status} ${outcome.code}`
          this.outcomes.set(told, (this.outcomes.get(told) ?? 0) + 1)
          // Nobody asks in step with the others.
          if (outcome.status === 503) await this.#wait(retryMs * (0.5 + Math.random()))
        }
      }),
    ).finally(() => agent.destroy())
  }

  /** Calls under way: in all, and of the tenant that has most. */
  get underWay(): { all: number; most: number } {
    const now = performance.now()
    const waiting = [...this.#since.values()].filter(({ at }) => now - at > underWayMs)
    const byTenant = Map.groupBy(waiting, ({ tenant }) => tenant)
    return { all: waiting.length, most: Math.max(0, ...[...byTenant.values()].map(({ length }) => length)) }
  }

  async #wait(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#over.signal }).catch(() => {})
  }

  async leave(): Promise<void> {
    this.#over.abort()
    await this.#done
  }
}

/** A neighbour in a process of its own, who sends on time whether or not it was answered. */
class Neighbour {
  readonly #child: ChildProcess

  private constructor(child: ChildProcess) {
    this.#child = child
  }

  static async start(url: string, keys: Keys): Promise<Neighbour> {
    const generator = join(import.meta.dirname, '../neighbours/generator.ts')
    const child = fork(generator, [JSON.stringify({ url, keys })])
    await once(child, 'message')
    return new Neighbour(child)
  }

  async samples(): Promise<readonly Sample[]> {
    const told = once(this.#child, 'message')
    this.#child.send('stop')
    const [samples] = await told
    return samples
  }

  end(): void {
    this.#child.kill('SIGKILL')
  }
}

const p99 = (samples: readonly Sample[]): number =>
  samples.map(({ ms }) => ms).sort((one, other) => one - other)[Math.ceil(samples.length * 0.99) - 1] ?? 0

export const hanging: Scenario = {
  name: 'hanging',
  engines: ['sqlite', 'postgres'],
  happen: async (scene, say) => {
    const { urls, stop } = await hangingDestinations(scene)
    const server = await scene.serve()
    const neighbour = await Neighbour.start(server.url, await scene.tenant('Neighbour'))
    const keys: string[] = []
    for (let number = 0; number < tenants; number++)
      keys.push(await scene.caller(server.url, await scene.tenant(`Caller ${number}`)))
    // Callers and destinations would have machines of their own.
    setPriority(niceness)
    const spans: { attacked: boolean; from: number; until: number }[] = []
    const span = async (attacked: boolean, ms: number): Promise<void> => {
      await sleep(settleMs)
      const from = Date.now()
      await sleep(ms)
      spans.push({ attacked, from, until: Date.now() })
    }
    const complaints: string[] = []
    const outcomes = new Map<string, number>()
    const most = { all: 0, most: 0 }
    try {
      for (let round = 0; round < rounds; round++) {
        await span(false, calmMs)
        const crowd = new Crowd(server, keys, [...urls.values()])
        await span(true, attackMs)
        const { underWay } = crowd
        most.all = Math.max(most.all, underWay.all)
        most.most = Math.max(most.most, underWay.most)
        await crowd.leave()
        for (const [told, count] of crowd.outcomes) outcomes.set(told, (outcomes.get(told) ?? 0) + count)
      }
      const samples = await neighbour.samples()
      const of = (attacked: boolean): Sample[] =>
        samples.filter(
          ({ at, kind }) =>
            kind !== 'health' &&
            spans.some(each => each.attacked === attacked && at >= each.from && at < each.until),
        )
      const [calm, during] = [p99(of(false)), p99(of(true))]
      say(
        `p99 of /tokens: ${calm.toFixed(1)} ms calm, ${during.toFixed(1)} ms beside ${keys.length * callersPerTenant} callers`,
      )
      say(
        `calls under way: ${most.all} in all, ${most.most} of a tenant; ${[...outcomes].map(([told, count]) => `${count} × ${told}`).join(', ')}`,
      )
      if (during > Math.max(p99Times * calm, calm + p99FreeMs))
        complaints.push('the p99 of /tokens has grown')
      if (of(true).some(({ status }) => status >= 300 || status === 0)) complaints.push('/tokens was refused')
      if (most.all > limits.callsPerProcess || most.most > limits.callsPerTenant)
        complaints.push('too many calls were under way')
      if (most.most < limits.callsPerTenant / 2) complaints.push('the attack did not begin')
      for (const told of outcomes.keys())
        if (!/^(?:503 proxy_busy|504 destination_timeout|502 destination_unreachable)$/.test(told))
          complaints.push(`a caller was told ${told}`)
    } finally {
      neighbour.end()
      stop()
    }
    return complaints
  },
}

/** Descriptors of the server, connections to callers and destinations among them. */
const descriptors = ({ pid }: Server): number => readdirSync(`/proc/${pid}/fd`).length

/** Callers who leave take what was begun for them along: at no time are there more connections than calls under way. */
export const leaving: Scenario = {
  name: 'leaving',
  engines: ['sqlite'],
  happen: async (scene, say) => {
    const { urls, stop } = await hangingDestinations(scene)
    try {
      const server = await scene.serve()
      const key = await scene.caller(server.url, await scene.tenant('Leaving'))
      const agent = new Agent({ keepAlive: true })
      const before = descriptors(server)
      let [most, calls, busy] = [0, 0, 0]
      const until = performance.now() + leavingMs
      const callers = Array.from({ length: leavers }, async (_, number) => {
        for (let round = 0; performance.now() < until; round++) {
          const url = [...urls.values()][(number + round) % urls.size] ?? ''
          const outcome = await ask(agent, server, key, url, AbortSignal.timeout(staysMs))
          if (outcome?.code === 'proxy_busy') busy++
          most = Math.max(most, descriptors(server) - before)
          calls++
        }
      })
      await Promise.all(callers)
      agent.destroy()
      // A caller and its destination.
      const mostAllowed = 2 * leavers + descriptorsBeside
      say(
        `${calls} calls, which ${leavers} callers left after ${staysMs} ms: ${most} descriptors at most, of ${mostAllowed}`,
      )
      return [
        ...(most > mostAllowed ? ['connections are left behind'] : []),
        ...(busy > 0 ? [`${busy} were told that calls were under way, which nobody waited for`] : []),
      ]
    } finally {
      stop()
    }
  },
}

/** Takes as long as the longest deadline. */
export const deadlines: Scenario = {
  name: 'deadlines',
  engines: ['sqlite'],
  happen: async (scene, say) => {
    const { urls, stop } = await hangingDestinations(scene)
    const complaints: string[] = []
    try {
      const server = await scene.serve()
      const key = await scene.caller(server.url, await scene.tenant('Caller'))
      const agent = new Agent()
      const asked = [...urls].map(async ([kind, url]) => {
        const outcome = await ask(agent, server, key, url, AbortSignal.timeout(200_000))
        const { status = 0, code = 'no answer', ms = 0 } = outcome ?? {}
        const deadline = deadlineOf.get(kind) ?? 0
        say(`${kind}: ${status} ${code} after ${(ms / 1_000).toFixed(2)} s of ${deadline / 1_000}`)
        const isRight =
          kind === 'dns-hangs' ? status === 502 : status === 504 && code === 'destination_timeout'
        if (!isRight) complaints.push(`${kind} was answered with ${status} ${code}`)
        if (ms < deadline - 100 || ms > deadline + lateMaxMs)
          complaints.push(`${kind} took ${ms.toFixed(0)} ms`)
      })
      await Promise.all(asked)
    } finally {
      stop()
    }
    return complaints
  },
}
