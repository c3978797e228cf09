import { readFileSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { constants, createBrotliCompress, gzipSync } from 'node:zlib'
import { limits } from '../../src/domain/limits.ts'
import { answerBytes, ok, type Reply } from '../rig/destination.ts'
import { ask } from './ask.ts'
import type { Scenario, Server } from './scene.ts'

const host = 'bombs.partner.example'
const bombBytes = 10 * 2 ** 30
const oneByOne = 4
const warmUps = 300
/** Of one at a time. Of many at once, each may be held as long as it arrives. */
const growthMaxMiB = 64
const growthMaxTogetherMiB = (limits.callsPerTenant * limits.destinationWireBytes) / 2 ** 20
const withinMs = 20_000

const encoded = (body: Buffer, encoding: string): Buffer =>
  answerBytes(body, { headers: [`Content-Encoding: ${encoding}`] })

/** A sequence of gzip members is a gzip, so nobody has to compress all of it. */
const gzipBomb = (bytes: number): Buffer => {
  const memberBytes = 2 ** 24
  const member = gzipSync(Buffer.alloc(memberBytes), { level: 9 })
  return Buffer.concat(Array.from({ length: bytes / memberBytes }, () => member))
}

const brotliBomb = async (bytes: number): Promise<Buffer> => {
  const zeros = Buffer.alloc(2 ** 26)
  // Quality 1 is fast, and all of it fits into what the vault takes.
  const packing = createBrotliCompress({ params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })
  const chunks: Buffer[] = []
  packing.on('data', (chunk: Buffer) => chunks.push(chunk))
  for (let at = 0; at < bytes; at += zeros.length)
    if (!packing.write(zeros)) await new Promise(resolve => packing.once('drain', resolve))
  packing.end()
  await new Promise(resolve => packing.once('end', resolve))
  return Buffer.concat(chunks)
}

const endless =
  (begin: string, piece: string | Buffer): Reply =>
  (socket: TLSSocket) => {
    socket.write(begin)
    const more = (): void => {
      while (!socket.destroyed && socket.write(piece));
      if (!socket.destroyed) socket.once('drain', more)
    }
    more()
  }

const head = 'HTTP/1.1 200 OK\r\n'
const chunkOf = (bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])

const replies = async (): Promise<Readonly<Record<string, Reply>>> => {
  const brotli = await brotliBomb(bombBytes)
  if (brotli.length > limits.destinationWireBytes) throw new Error('the brotli bomb is too long to be read')
  const member = gzipSync(Buffer.alloc(2 ** 24))
  return {
    'gzip, 10 GiB': encoded(gzipBomb(bombBytes), 'gzip'),
    'gzip, 2 GiB, short enough to be read': encoded(gzipBomb(2 ** 31 - 2 ** 26), 'gzip'),
    'brotli, 10 GiB, short enough to be read': encoded(brotli, 'br'),
    'gzip without end': endless(
      `${head}Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n`,
      chunkOf(member),
    ),
    'a body without end': endless(`${head}\r\n`, 'x'.repeat(65_536)),
    'chunks without end': endless(
      `${head}Transfer-Encoding: chunked\r\n\r\n`,
      chunkOf(Buffer.alloc(8_192, 'x')),
    ),
    'chunks of one byte without end': endless(
      `${head}Transfer-Encoding: chunked\r\n\r\n`,
      '1\r\nx\r\n'.repeat(1_000),
    ),
    'a chunk with an extension without end': endless(
      `${head}Transfer-Encoding: chunked\r\n\r\n1;`,
      'x'.repeat(65_536),
    ),
    'trailers without end': endless(
      `${head}Transfer-Encoding: chunked\r\n\r\n0\r\n`,
      `X: ${'x'.repeat(999)}\r\n`,
    ),
    'a head without end': endless(head, `X: ${'x'.repeat(999)}\r\n`),
    'informational answers without end': endless('', 'HTTP/1.1 103 Early Hints\r\nX: 1\r\n\r\n'),
  }
}

/** The most memory that the process has had since the last call. */
const peakMiB = ({ pid }: Server): number => {
  const peak = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
  return Number(peak) / 1_024
}

/** U14, U16: whatever a destination sends, the answer is 502 in time, and memory stays where it was. */
export const bombs: Scenario = {
  name: 'bombs',
  engines: ['sqlite'],
  happen: async (scene, say) => {
    const destination = await scene.destination(host)
    const server = await scene.serve()
    const key = await scene.caller(server.url, await scene.tenant('Bombs'))
    const agent = new Agent({ keepAlive: true })
    const url = `https://${host}:${destination.port}/`
    const once = () => ask(agent, server, key, url, AbortSignal.timeout(60_000))
    const complaints: string[] = []
    const wrong = new Set<string>()
    destination.reply = ok('fine')
    for (let at = 0; at < warmUps; at++) await once()
    for (const [what, reply] of Object.entries(await replies())) {
      const figures: string[] = []
      for (const [times, together] of [
        [oneByOne, 1],
        [1, limits.callsPerTenant],
      ] as const) {
        destination.reply = reply
        peakMiB(server)
        const before = peakMiB(server)
        let slowest = 0
        for (let round = 0; round < times; round++) {
          const outcomes = await Promise.all(Array.from({ length: together }, once))
          for (const outcome of outcomes) {
            slowest = Math.max(slowest, outcome?.ms ?? Number.POSITIVE_INFINITY)
            const isRight =
              together === 1 ? outcome?.code === 'answer_invalid' : /^50[234]$/.test(String(outcome?.status))
            if (!isRight) wrong.add(`${what}: ${outcome?.status ?? 'no answer'} ${outcome?.code ?? ''}`)
          }
        }
        const grown = peakMiB(server) - before
        figures.push(`${together} at once: + ${grown.toFixed(0)} MiB, ${slowest.toFixed(0)} ms`)
        const grownMax = together === 1 ? growthMaxMiB : growthMaxTogetherMiB
        if (grown > grownMax) complaints.push(`${what}, ${together} at once: ${grown.toFixed(0)} MiB more`)
        if (slowest > withinMs) complaints.push(`${what}, ${together} at once: ${slowest.toFixed(0)} ms`)
        destination.requests.length = 0
      }
      say(`${what}: ${figures.join('; ')}`)
    }
    agent.destroy()
    return [...complaints, ...wrong]
  },
}
