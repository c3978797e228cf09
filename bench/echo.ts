import { createServer } from 'node:http'

/** The yardstick: reads and parses the same body, and answers with as many bytes as the vault would. */
const answerBytes = Number(process.argv[2])
const answer = JSON.stringify({ data: 'x'.repeat(Math.max(0, answerBytes - 11)) })

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', chunk => chunks.push(chunk))
  request.on('end', () => {
    if (chunks.length > 0) JSON.parse(Buffer.concat(chunks).toString('utf8'))
    response.setHeader('content-type', 'application/json; charset=utf-8')
    response.setHeader('content-length', Buffer.byteLength(answer))
    response.end(answer)
  })
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.stdout.write(`${typeof address === 'object' ? address?.port : ''}\n`)
})
