import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { VaultError } from '../../src/domain/errors.ts'
import { Listener } from '../../src/http/connections/listener.ts'
import { PlainExchange } from '../../src/http/connections/plain-exchange.ts'
import type { Exchange } from '../../src/http/exchange.ts'
import { problemSender } from '../../src/http/send-problem.ts'
import { fc } from '../rig/properties.ts'
import { type ByteStream, byteStreams } from './byte-streams.ts'

const answersWithinMs = 60_000
const silent = { isDebug: false, error: () => {}, info: () => {}, debug: () => {} }
const sendProblem = problemSender({ log: silent, headerPrefix: 'svc', noteRefusal: () => {} })

/** What was made of the bytes of a connection. */
type Read = {
  /** The requests as they were served. */
  readonly served: unknown[]
  /** The answers as the client got them. */
  readonly answers: string
}

type Reader = {
  read(stream: ByteStream): Promise<Read>
  /** How many requests were read, and how many of them strictly. */
  readonly counts: { all: number; strict: number }
  stop(): Promise<void>
}

const startReader = async (strictReader: boolean): Promise<Reader> => {
  let served: unknown[] = []
  const counts = { all: 0, strict: 0 }
  const record = (exchange: Exchange, body: string): void => {
    const { method, url, headers, bodyBytes } = exchange
    counts.all++
    if (exchange instanceof PlainExchange) counts.strict++
    served.push({ method, url, headers: { ...headers }, bodyBytes: method === 'POST' ? bodyBytes : 0, body })
  }
  const answer = (exchange: Exchange, body: Buffer): void => {
    record(exchange, body.toString('latin1'))
    const content = `${exchange.method} ${exchange.url} ${body.toString('latin1')}`
    if (exchange.url.includes('stream')) {
      const stream = exchange.stream(200, { 'content-type': 'text/plain' })
      stream.write(content)
      stream.end()
    } else exchange.send(200, { 'content-length': Buffer.byteLength(content) }, content)
  }
  const listener = new Listener({
    headerPrefix: 'svc',
    traceHeader: 'svc-trace-id',
    serve: exchange => {
      // Some are answered before their bodies come.
      if (exchange.url.includes('early')) {
        record(exchange, 'not asked for')
        exchange.send(401, { 'content-length': 0 })
        return
      }
      const body = exchange.body(() => true)
      if (!(body instanceof Promise)) answer(exchange, body)
      else
        body.then(
          bytes => answer(exchange, bytes),
          error => {
            record(exchange, String(error.code))
            sendProblem(exchange, error)
          },
        )
    },
    refuse: exchange => sendProblem(exchange, new VaultError('invalidHttp')),
    refuseTunnel: () => new VaultError('methodNotAllowed'),
    strictReader,
  })
  await once(listener.server.listen(0, '127.0.0.1'), 'listening')
  const { port } = listener.server.address() as AddressInfo
  return {
    counts,
    read: async ({ bytes, cuts }) => {
      served = []
      const answers = await converse(port, bytes, cuts)
      return { served, answers: comparable(answers) }
    },
    stop: () => listener.close(),
  }
}

/** Sends the bytes in the pieces that they are cut into, ends its side, and returns what comes back. */
const converse = (port: number, bytes: Buffer, cuts: readonly number[]): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true })
    let received = ''
    let isOver = false
    const timer = setTimeout(() => {
      socket.destroy()
      reject(new Error(`the connection hangs after ${received.length} bytes`))
    }, answersWithinMs)
    socket.setEncoding('latin1').on('data', (text: string) => {
      received += text
    })
    socket.on('error', () => {})
    socket.on('end', () => {
      isOver = true
      socket.end()
    })
    socket.on('close', () => {
      isOver = true
      clearTimeout(timer)
      resolve(received)
    })
    socket.on('connect', async () => {
      const ends = [...new Set(cuts.map(cut => cut % (bytes.length + 1)))].sort((a, b) => a - b)
      let start = 0
      for (const end of [...ends, bytes.length]) {
        if (isOver) return
        socket.write(bytes.subarray(start, end))
        start = end
        // The server runs in this process, and has read the piece by then.
        for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate)
      }
      socket.end()
    })
  })

/** Answers as whoever gets them reads them: the order of header fields and their letters do not matter, nor how a body is cut. */
const comparable = (answers: string): string =>
  answers
    .replace(/HTTP\/1\.1 \d{3} .*?\r\n\r\n/gs, head => {
      const [line, ...fields] = head.trimEnd().split('\r\n')
      const shown = fields
        .map(field => field.replace(/^[^:]*/, name => name.toLowerCase()))
        .filter(field => !/^(date|svc-trace-id):/.test(field))
      return `${[line, ...shown.sort()].join('\n')}\n\n`
    })
    .replace(/"trace_id":"[^"]*"/g, '')

/** Both readers make the same of the same bytes: the same requests, to the byte, and the same answers. */
export const fuzzWire = async ({ seed, runs }: { seed: number; runs: number }): Promise<void> => {
  const [strict, node] = [await startReader(true), await startReader(false)]
  try {
    await fc.assert(
      fc.asyncProperty(byteStreams(), async stream => {
        const [ours, theirs] = await Promise.all([strict.read(stream), node.read(stream)])
        assert.deepEqual(ours, theirs)
      }),
      { seed, numRuns: runs },
    )
    const { counts } = strict
    assert.ok(counts.strict > runs / 4 && counts.all > counts.strict, JSON.stringify(counts))
    assert.equal(node.counts.strict, 0)
  } finally {
    await Promise.all([strict.stop(), node.stop()])
  }
}
