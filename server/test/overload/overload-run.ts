import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Program, Site } from '../rig/program.ts'

type Options = {
  readonly seconds: number
  readonly idle: number
  readonly report: (line: string) => void
}
type Answer = { readonly status: number; readonly retryAfter: string | undefined; readonly ms: number }

const clients = 16
const overload = 10
const slowClients = 200
const dropMs = 1_000
const memoryGrowthMaxMiB = 512
/** How much may be queued ahead of an admitted request, counted in requests at capacity. */
const requestsAheadMax = 60
const recoveryMs = 5_000
/** Much work in one request, so that a generator on the same machine can demand ten times too much. */
const payload = JSON.stringify(
  Array.from({ length: 300 }, (_, n) => ({ type: 'token', data: `value ${n}`, metadata: { n: String(n) } })),
)

/** Returns what was not as promised. */
export const overloadRun = async (
  site: Site,
  { seconds, idle, report }: Options,
): Promise<readonly string[]> => {
  const server = await site.serve()
  const keys = await site.json('tenant', 'create', '--name', 'Overload')
  const agent = new Agent({ keepAlive: true, maxSockets: 2_000 })
  const send = (path: string, body?: string): Promise<Answer> =>
    ask(agent, server.url + path, keys.api_key, body)
  const complaints: string[] = []
  const require = (holds: boolean, complaint: string): void => void (holds || complaints.push(complaint))

  await closedLoop(() => send('/tokenize', payload), 2)
  const capacity = await closedLoop(() => send('/tokenize', payload), 3)
  const before = memoryMiB(server)
  report(`capacity ${capacity.toFixed(0)} requests per second, ${before} MiB`)

  const sockets = await crowd(server.url, idle, report)
  const latencyMaxMs = 1_000 + (requestsAheadMax / capacity) * 1_000
  const withCrowd = memoryMiB(server)
  const probe = await send('/health')
  report(`${sockets.length} idle and slow connections: ${withCrowd} MiB, health in ${probe.ms.toFixed(0)} ms`)
  require(probe.status === 200, `health answered ${probe.status} beside idle connections`)

  let highest = withCrowd
  const probes: Answer[] = []
  let isOver = false
  const watching = (async () => {
    while (!isOver) {
      highest = Math.max(highest, memoryMiB(server))
      probes.push(await send('/health'))
      await sleep(200)
    }
  })()
  const answers = await openLoop(() => send('/tokenize', payload), capacity * overload, seconds)
  isOver = true
  await watching
  const done = answers.filter(({ status }) => status === 200)
  const shed = answers.filter(({ status }) => status === 503)
  const slowest = quantile(answers, 0.99)
  const slowestProbe = quantile(probes, 0.99)
  report(
    `${seconds} s at ten times that: ${done.length} done, ${shed.length} turned away, 99 % within ${slowest.toFixed(0)} ms; health within ${slowestProbe.toFixed(0)} ms; at most ${highest} MiB`,
  )
  const others = answers.filter(({ status }) => status !== 200 && status !== 503)
  require(others.length ===
    0, `${others.length} answers were neither done nor turned away: ${others[0]?.status}`)
  require(shed.length > 0, 'nothing was turned away')
  require(done.length > capacity * seconds * 0.2, `only ${done.length} were done`)
  require(shed.every(({ retryAfter }) => retryAfter !== undefined), 'a 503 without Retry-After')
  require(slowest < latencyMaxMs, `one answer in a hundred took more than ${slowest.toFixed(0)} ms`)
  require(probes.every(({ status }) => status === 200), 'health was not answered')
  require(slowestProbe < latencyMaxMs, `health took ${slowestProbe.toFixed(0)} ms`)
  require(highest - before < memoryGrowthMaxMiB, `memory grew by ${highest - before} MiB`)

  await sleep(recoveryMs - 3_000)
  const recovered = await closedLoop(() => send('/tokenize', payload), 3)
  report(`afterwards ${recovered.toFixed(0)} requests per second`)
  require(recovered > capacity * 0.6, `only ${recovered.toFixed(0)} requests per second afterwards`)
  for (const socket of sockets) socket.destroy()
  agent.destroy()
  return complaints
}

const ask = (agent: Agent, url: string, key: string, body?: string): Promise<Answer> =>
  new Promise(resolve => {
    const started = performance.now()
    const settle = (status: number, retryAfter?: string): void =>
      resolve({ status, retryAfter, ms: performance.now() - started })
    const asking = request(
      url,
      {
        agent,
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          'svc-api-key': key,
          ...(body !== undefined && {
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(body),
          }),
        },
      },
      reply => {
        reply.resume()
        reply.on('end', () => settle(reply.statusCode ?? 0, reply.headers['retry-after']))
      },
    )
    asking.on('error', () => settle(0))
    asking.end(body)
  })

/** Each client sends its next request once it has its answer. Returns the number done per second. */
const closedLoop = async (work: () => Promise<Answer>, seconds: number): Promise<number> => {
  const end = performance.now() + seconds * 1_000
  let done = 0
  await Promise.all(
    Array.from({ length: clients }, async () => {
      while (performance.now() < end) if ((await work()).status === 200) done++
    }),
  )
  return done / seconds
}

/** Sends requests at a fixed rate, whether or not they are answered. */
const openLoop = async (
  work: () => Promise<Answer>,
  perSecond: number,
  seconds: number,
): Promise<Answer[]> => {
  const answers: Promise<Answer>[] = []
  const started = performance.now()
  for (;;) {
    const elapsed = (performance.now() - started) / 1_000
    if (elapsed > seconds) return Promise.all(answers)
    while (answers.length < elapsed * perSecond) answers.push(work())
    await sleep(5)
  }
}

/** Connections that send nothing, half a head, a head that is too large, or a body drop by drop. */
const crowd = async (url: string, idle: number, report: (line: string) => void): Promise<Socket[]> => {
  const { hostname, port } = new URL(url)
  const open = (): Promise<Socket | undefined> =>
    new Promise(resolve => {
      const socket = connect(Number(port), hostname)
      socket.once('connect', () => resolve(socket))
      socket.on('error', () => resolve(undefined))
    })
  const sockets: Socket[] = []
  while (sockets.length < idle + slowClients) {
    const some = await Promise.all(Array.from({ length: 100 }, open))
    const opened = some.filter(socket => socket !== undefined)
    sockets.push(...opened)
    if (opened.length < some.length) {
      report(`no more than ${sockets.length} connections could be opened`)
      break
    }
  }
  const heads = [
    'GET /tokens HT',
    'POST /tokens HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{',
    `GET /tokens HTTP/1.1\r\nHost: x\r\nX-Long: ${'y'.repeat(20_000)}`,
    '\r\n',
    '',
  ]
  sockets.slice(0, slowClients).forEach((socket, index) => {
    socket.write(heads[index % heads.length] ?? '')
    const drops = setInterval(() => socket.write(' '), dropMs)
    socket.once('close', () => clearInterval(drops))
  })
  return sockets
}

const memoryMiB = ({ pid }: Program): number =>
  Math.round(Number(readFileSync(`/proc/${pid}/status`, 'utf8').match(/VmRSS:\s+(\d+)/)?.[1]) / 1_024)

const quantile = (answers: readonly Answer[], share: number): number =>
  answers.map(({ ms }) => ms).sort((a, b) => a - b)[Math.floor(answers.length * share)] ?? 0
