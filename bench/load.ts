import { connect } from 'node:net'
import { card } from './cards.ts'

/**
 * A load of keep-alive connections, each with one request in flight, from a process of its own. Written by hand because
 * on two cores the generator must cost less than the server: it builds requests as text and reads answers by their
 * Content-Length alone.
 */
export type LoadJob = {
  readonly port: number
  readonly kind: RequestKind
  readonly key: string
  /** For the creates of a mixed load, whose reads use `key`. */
  readonly writeKey?: string
  /** For requests through a proxy. */
  readonly proxyKey?: string
  readonly ids: readonly string[]
  /** How many of them a detokenize names, 100 by default. */
  readonly tokens?: number
  readonly connections: number
  readonly seconds: number
  /** Requests per second over all connections; if absent, as many as are answered. */
  readonly rate?: number
  /** Where unique values start; each run uses a different range. */
  readonly serial: number
}

export type RequestKind =
  | 'create'
  | 'deduplicated'
  | 'get'
  | 'list'
  | 'pages'
  | 'patch'
  | 'tokenize'
  | 'detokenize'
  | 'mixed'
  | 'proxy'

export type LoadResult = {
  readonly requests: number
  readonly failed: number
  readonly seconds: number
  readonly latenciesMs: { readonly p50: number; readonly p99: number; readonly p999: number }
}

export const valuesPerTokenize = 1_000

const pagesListed = 64

const form = (type: string, body: string): string =>
  `Content-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`

const head = (method: string, path: string, key: string): string =>
  `${method} ${path} HTTP/1.1\r\nHost: bench\r\nSVC-API-KEY: ${key}\r\n`

const requests: Record<RequestKind, (job: LoadJob, serial: number) => string> = {
  create: ({ key }, serial) =>
    head('POST', '/tokens', key) + form('application/json', JSON.stringify(card(serial))),
  /** A create with the work that most real ones bring: it asks for an equal token, and has a metadata key. */
  deduplicated: ({ key }, serial) =>
    head('POST', '/tokens', key) +
    form(
      'application/json',
      JSON.stringify({ ...card(serial), deduplicate_token: true, metadata: { order: String(serial) } }),
    ),
  get: ({ key, ids }, serial) => `${head('GET', `/tokens/${ids[serial % ids.length]}`, key)}\r\n`,
  /** All ask for the same page, so that requests which meet share it. */
  list: ({ key }) => `${head('GET', '/tokens?size=20', key)}\r\n`,
  /** Requests that meet ask for different pages. */
  pages: ({ key }, serial) => `${head('GET', `/tokens?size=20&page=${(serial % pagesListed) + 1}`, key)}\r\n`,
  patch: ({ key, ids }, serial) =>
    head('PATCH', `/tokens/${ids[serial % ids.length]}`, key) +
    form('application/merge-patch+json', JSON.stringify({ metadata: { touched: String(serial) } })),
  tokenize: ({ key }, serial) => {
    const values = Array.from({ length: valuesPerTokenize }, (_, i) => `value ${serial * 1_000 + i}`)
    return head('POST', '/tokenize', key) + form('application/json', JSON.stringify(values))
  },
  detokenize: ({ key, ids, tokens = 100 }, serial) => {
    const values = Array.from({ length: tokens }, (_, at) => {
      const id = ids[(serial * tokens + at) % ids.length]
      return at % 2 === 0 ? `{{ ${id} }}` : `number {{ ${id} | json: '$.number' }}`
    })
    return head('POST', '/detokenize', key) + form('application/json', JSON.stringify(values))
  },
  proxy: ({ key, proxyKey, ids }, serial) =>
    `${head('POST', '/proxy/charges', key)}SVC-PROXY-KEY: ${proxyKey}\r\n` +
    form(
      'application/json',
      JSON.stringify({ card: `{{ ${ids[serial % ids.length]} | json: '$.number' }}`, amount: serial }),
    ),
  /** Of ten requests, seven read, two create and one lists. */
  mixed: (job, serial) => {
    const turn = serial % 10
    if (turn < 7) return requests.get(job, serial)
    return turn === 9
      ? requests.list(job, serial)
      : requests.create({ ...job, key: job.writeKey ?? job.key }, serial)
  },
}

/** While connections are made and the generator's own code is compiled, waiting says nothing about the server. */
const warmUpMs = 500

const run = async (job: LoadJob): Promise<LoadResult> => {
  const latencies: number[] = []
  let answered = 0
  const started = performance.now()
  const end = started + job.seconds * 1_000
  const gapMs = job.rate === undefined ? 0 : (1_000 * job.connections) / job.rate
  let serial = job.serial
  let failed = 0

  const oneConnection = (number: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const socket = connect(job.port, '127.0.0.1')
      // At a given rate a request is due at its time, whether or not the previous one is answered: waiting counts too.
      let dueAt = started + (gapMs * number) / job.connections
      let sentAt = 0
      let received: Buffer[] = []
      let size = 0
      let expected = -1
      const send = (): void => {
        const now = performance.now()
        if (now >= end) {
          socket.end()
          resolve()
          return
        }
        if (job.rate !== undefined && now < dueAt) {
          setTimeout(send, dueAt - now)
          return
        }
        sentAt = job.rate === undefined ? now : dueAt
        dueAt += gapMs
        socket.write(requests[job.kind](job, serial++))
      }
      socket.setNoDelay(true)
      socket.on('connect', send)
      socket.on('error', reject)
      socket.on('data', (chunk: Buffer) => {
        received.push(chunk)
        size += chunk.length
        if (expected === -1) {
          const text = (received.length === 1 ? chunk : Buffer.concat(received)).toString('latin1')
          const bodyAt = text.indexOf('\r\n\r\n')
          if (bodyAt === -1) return
          const length = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, bodyAt + 2))?.[1]
          expected = bodyAt + 4 + Number(length ?? 0)
          if (!text.startsWith('HTTP/1.1 2')) failed++
        }
        if (size < expected) return
        answered++
        if (sentAt >= started + warmUpMs) latencies.push(performance.now() - sentAt)
        received = []
        size = 0
        expected = -1
        send()
      })
    })

  await Promise.all(Array.from({ length: job.connections }, (_, number) => oneConnection(number)))
  latencies.sort((a, b) => a - b)
  const at = (share: number): number =>
    latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0
  return {
    requests: answered,
    failed,
    seconds: (performance.now() - started) / 1_000,
    latenciesMs: { p50: at(0.5), p99: at(0.99), p999: at(0.999) },
  }
}

if (import.meta.main) {
  let input = ''
  for await (const chunk of process.stdin) input += chunk
  process.stdout.write(JSON.stringify(await run(JSON.parse(input) as LoadJob)))
}
