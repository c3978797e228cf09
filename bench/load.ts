import { connect } from 'node:net'
import { card } from './cards.ts'

/**
 * A load of keep-alive connections, each with one request in flight, from a process of its own. Written by
 * hand because on two cores the generator must cost less than the server: it builds requests as text and
 * reads answers by their Content-Length alone.
 */
export type LoadJob = {
  readonly port: number
  readonly scenario: 'create' | 'get' | 'list' | 'patch' | 'tokenize'
  readonly key: string
  readonly ids: readonly string[]
  readonly connections: number
  readonly seconds: number
  /** Where unique values start; each run takes another range. */
  readonly serial: number
}

export type LoadResult = {
  readonly requests: number
  readonly failed: number
  readonly seconds: number
  readonly latenciesMs: { readonly p50: number; readonly p99: number; readonly p999: number }
}

const tokenizeValues = 1_000

const bodies: Record<LoadJob['scenario'], (serial: number) => string> = {
  create: serial => JSON.stringify(card(serial)),
  patch: serial => JSON.stringify({ metadata: { touched: String(serial) } }),
  tokenize: serial =>
    JSON.stringify(Array.from({ length: tokenizeValues }, (_, i) => `value ${serial * 1_000 + i}`)),
  get: () => '',
  list: () => '',
}

const requestText = (job: LoadJob, serial: number): string => {
  const id = job.ids[serial % job.ids.length] ?? ''
  const [method, path, type] = {
    create: ['POST', '/tokens', 'application/json'],
    tokenize: ['POST', '/tokenize', 'application/json'],
    get: ['GET', `/tokens/${id}`, ''],
    list: ['GET', '/tokens?size=20', ''],
    patch: ['PATCH', `/tokens/${id}`, 'application/merge-patch+json'],
  }[job.scenario] as [string, string, string]
  const body = bodies[job.scenario](serial)
  const form = body === '' ? '' : `Content-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`
  return `${method} ${path} HTTP/1.1\r\nHost: bench\r\nSVC-API-KEY: ${job.key}\r\n${form}\r\n${body}`
}

const run = async (job: LoadJob): Promise<LoadResult> => {
  const latencies: number[] = []
  const started = performance.now()
  const end = started + job.seconds * 1_000
  let serial = job.serial
  let failed = 0

  const oneConnection = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const socket = connect(job.port, '127.0.0.1')
      let sentAt = 0
      let received: Buffer[] = []
      let size = 0
      let expected = -1
      const send = (): void => {
        if (performance.now() >= end) {
          socket.end()
          resolve()
          return
        }
        sentAt = performance.now()
        socket.write(requestText(job, serial++))
      }
      socket.setNoDelay(true)
      socket.on('connect', send)
      socket.on('error', reject)
      socket.on('data', (chunk: Buffer) => {
        received.push(chunk)
        size += chunk.length
        if (expected === -1) {
          const head = (received.length === 1 ? chunk : Buffer.concat(received)).toString('latin1')
          const bodyAt = head.indexOf('\r\n\r\n')
          if (bodyAt === -1) return
          const length = /\r\ncontent-length: (\d+)/i.exec(head.slice(0, bodyAt + 2))?.[1]
          expected = bodyAt + 4 + Number(length ?? 0)
          if (!head.startsWith('HTTP/1.1 2')) failed++
        }
        if (size < expected) return
        latencies.push(performance.now() - sentAt)
        received = []
        size = 0
        expected = -1
        send()
      })
    })

  await Promise.all(Array.from({ length: job.connections }, oneConnection))
  latencies.sort((a, b) => a - b)
  const at = (share: number): number =>
    latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0
  return {
    requests: latencies.length,
    failed,
    seconds: (performance.now() - started) / 1_000,
    latenciesMs: { p50: at(0.5), p99: at(0.99), p999: at(0.999) },
  }
}

let input = ''
for await (const chunk of process.stdin) input += chunk
process.stdout.write(JSON.stringify(await run(JSON.parse(input) as LoadJob)))
