import { getPriority, setPriority } from 'node:os'
import { gzipSync } from 'node:zlib'
import { certificate } from '../rig/certificates.ts'
import { answerBytes, Destination, type Reply } from '../rig/destination.ts'
import { DnsServer } from '../rig/dns-server.ts'
import { list, niceness } from './attack.ts'

/** Where the vault finds it, and what the vault must be told. `url` ends with a slash. */
export type FarSide = {
  readonly url: string
  readonly port: number
  readonly dns: string
  readonly ca: string
}

const host = 'far.attack.example'
const json = { headers: ['Content-Type: application/json'] }
const mebibyte = 1 << 20

/** As long as an answer may be. */
const filledWith = (text: string): string => text.repeat(Math.floor((mebibyte - 16) / text.length))

/** Begins like values that the vault looks for, over and over, and is none of them. */
export const commonStart = '1234 5678 9012 3456-7890-'

/** By path. The first is what comes in. */
const replies: Readonly<Record<string, Reply>> = {
  echo: (socket, { body }) => socket.write(answerBytes(body, json)),
  hang: () => {},
  /** All but its last byte. */
  nearly: socket => socket.write(answerBytes('x'.repeat(mebibyte - 1), json).subarray(0, -1)),
  squeezed: answerBytes(gzipSync(filledWith(' ')), {
    headers: ['Content-Type: application/json', 'Content-Encoding: gzip'],
  }),
  alike: answerBytes(filledWith(commonStart), json),
  escaped: answerBytes(filledWith('\\u0031%31'), json),
  numbers: answerBytes(`{"all":[${list(45_000, at => `"4242 4242 ${at % 10_000}"`).join()}]}`, json),
  fail: answerBytes('', { status: '500 X' }),
}

if (import.meta.main) {
  setPriority(getPriority() + niceness)
  const ca = certificate('Far side CA')
  const dns = await DnsServer.start()
  dns.set(host, { a: ['127.0.0.1'] })
  const destination = await Destination.start(certificate(host, ca))
  destination.reply = (socket, request) => {
    destination.requests.length = 0
    const reply = replies[request.line.split(/[ /?]+/)[1] ?? ''] ?? answerBytes('')
    if (typeof reply === 'function') reply(socket, request)
    else socket.write(reply)
  }
  const { port } = destination
  process.once('disconnect', () => process.exit())
  process.send?.({
    url: `https://${host}:${port}/`,
    port,
    dns: dns.address,
    ca: ca.cert,
  } satisfies FarSide)
}
