import { connect } from 'node:net'
import { assertAnswerRules, makeReply, type TestReply } from './answers.ts'

/**
 * Sends bytes that no HTTP client would, and reads `answers` answers, or as many as come before the server closes.
 * `more` supplies the rest of a long body whenever the socket has room, until it is used up: most clients look at the
 * answer only after they have sent everything. With `saysEnd` the client then ends its side of the connection.
 */
export const sendRaw = (
  baseUrl: string,
  bytes: string | Uint8Array,
  {
    answers = 1,
    more,
    saysEnd = false,
  }: { answers?: number; more?: () => Uint8Array | undefined; saysEnd?: boolean } = {},
): Promise<TestReply[]> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(baseUrl)
    const socket = connect(Number(port), hostname)
    let received = Buffer.alloc(0)
    let isSent = more === undefined
    const finish = (): void => {
      socket.destroy()
      try {
        const replies = parseReplies(received)
        for (const reply of replies) assertAnswerRules(reply, 'GET')
        resolve(replies)
      } catch (error) {
        reject(error)
      }
    }
    const pump = (): void => {
      if (more === undefined || socket.destroyed) return
      for (let chunk = more(); chunk !== undefined; chunk = more())
        if (!socket.write(chunk)) {
          socket.once('drain', pump)
          return
        }
      isSent = true
      settle()
    }
    const settle = (): void => {
      if (isSent && parseReplies(received).length >= answers) finish()
    }
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      settle()
    })
    socket.on('end', finish)
    // The server may close while we are still writing; what counts is what it said before.
    socket.on('error', finish)
    socket.on('close', finish)
    socket.write(bytes)
    pump()
    if (saysEnd) socket.end()
  })

/** The complete answers at the start of the bytes; all of ours have a Content-Length or no body. */
const parseReplies = (bytes: Buffer): TestReply[] => {
  const replies: TestReply[] = []
  let rest = bytes
  for (;;) {
    const end = rest.indexOf('\r\n\r\n')
    if (end === -1) return replies
    const [statusLine = '', ...lines] = rest.subarray(0, end).toString('latin1').split('\r\n')
    const headers = new Headers()
    for (const line of lines) {
      const colon = line.indexOf(':')
      headers.append(line.slice(0, colon), line.slice(colon + 1).trim())
    }
    const length = Number(headers.get('content-length') ?? 0)
    const body = rest.subarray(end + 4, end + 4 + length)
    if (body.length < length) return replies
    const status = Number(statusLine.split(' ')[1])
    // 100 Continue is not an answer.
    if (status >= 200) replies.push(makeReply(status, headers, body.toString()))
    rest = rest.subarray(end + 4 + length)
  }
}
