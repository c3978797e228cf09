import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'

/** What a name answers: records, `silent`, or an error. A list of answers is given one after another, the last for ever. */
export type DnsAnswer =
  | 'silent'
  | 'nxdomain'
  | 'servfail'
  | { readonly a?: readonly string[]; readonly aaaa?: readonly string[]; readonly cname?: string }

const types = { a: 1, cname: 5, aaaa: 28 } as const

/** A real DNS server on UDP, for the names of a test. It answers only what it was told; other names do not exist. */
export class DnsServer {
  readonly #socket: Socket
  readonly #answers = new Map<string, DnsAnswer[]>()
  /** How often each name was asked for its IPv4 addresses. */
  readonly asked = new Map<string, number>()

  private constructor(socket: Socket) {
    this.#socket = socket
  }

  static async start(): Promise<DnsServer> {
    const socket = createSocket('udp4')
    socket.bind(0, '127.0.0.1')
    await once(socket, 'listening')
    const server = new DnsServer(socket)
    socket.on('message', (query, { address, port }) => {
      const answer = server.#answer(query)
      if (answer !== undefined) socket.send(answer, port, address)
    })
    return server
  }

  get address(): string {
    return `127.0.0.1:${this.#socket.address().port}`
  }

  set(name: string, ...answers: DnsAnswer[]): void {
    this.#answers.set(name, answers)
  }

  stop(): void {
    this.#socket.close()
  }

  #answer(query: Buffer): Buffer | undefined {
    let at = 12
    const labels: string[] = []
    while (query[at] !== 0) {
      const length = query[at] ?? 0
      labels.push(query.toString('latin1', at + 1, at + 1 + length))
      at += length + 1
    }
    const question = query.subarray(12, at + 5)
    const type = query.readUInt16BE(at + 1)
    const name = labels.join('.').toLowerCase()
    const count = this.asked.get(name) ?? 0
    if (type === types.a) this.asked.set(name, count + 1)
    const answers = this.#answers.get(name) ?? ['nxdomain']
    // The question for IPv6 comes right after that for IPv4, and belongs to the same look-up.
    const turn = type === types.a ? count : count - 1
    const answer = answers[Math.min(Math.max(turn, 0), answers.length - 1)]
    if (answer === undefined || answer === 'silent') return undefined
    if (typeof answer === 'string') return message(query, answer === 'nxdomain' ? 3 : 2, question, [])
    const { a = [], aaaa = [], cname } = answer
    const owner = cname === undefined ? Buffer.from([0xc0, 12]) : encodeName(cname)
    const addresses = (type === types.a ? a : type === types.aaaa ? aaaa : []).map(address =>
      record(
        owner,
        type,
        address.includes(':') ? ipv6Bytes(address) : Buffer.from(address.split('.').map(Number)),
      ),
    )
    const alias = cname === undefined ? [] : [record(Buffer.from([0xc0, 12]), types.cname, encodeName(cname))]
    return message(query, 0, question, [...alias, ...addresses])
  }
}

const message = (query: Buffer, code: number, question: Buffer, records: readonly Buffer[]): Buffer => {
  const head = Buffer.alloc(12)
  query.copy(head, 0, 0, 2)
  head.writeUInt16BE(0x8580 | code, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt16BE(records.length, 6)
  return Buffer.concat([head, question, ...records])
}

const record = (owner: Buffer, type: number, data: Buffer): Buffer => {
  const fixed = Buffer.alloc(10)
  fixed.writeUInt16BE(type, 0)
  fixed.writeUInt16BE(1, 2)
  fixed.writeUInt16BE(data.length, 8)
  return Buffer.concat([owner, fixed, data])
}

const encodeName = (name: string): Buffer =>
  Buffer.concat([
    ...name.split('.').map(label => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)])),
    Buffer.from([0]),
  ])

const ipv6Bytes = (address: string): Buffer => {
  const [front = '', back = ''] = address.split('::')
  const words = (text: string): number[] =>
    text === ''
      ? []
      : text.split(':').flatMap(word => {
          if (!word.includes('.')) return [Number.parseInt(word, 16)]
          const [a = 0, b = 0, c = 0, d = 0] = word.split('.').map(Number)
          return [(a << 8) | b, (c << 8) | d]
        })
  const [first, last] = [words(front), words(back)]
  const all = [...first, ...Array<number>(8 - first.length - last.length).fill(0), ...last]
  return Buffer.from(all.flatMap(word => [word >> 8, word & 0xff]))
}
