import { createServer } from 'node:http'
import { Agent, request } from 'node:https'
import { type BenchDestination, destinationName } from './destination.ts'

/** The yardstick of the proxy: reads a body whole, sends it on by `node:https`, and sends the answer back, and nothing more. */
const { port, ca } = JSON.parse(process.argv[2] ?? '{}') as BenchDestination
const agent = new Agent({ keepAlive: true, ca })

const whole = (stream: NodeJS.ReadableStream, then: (body: Buffer) => void): void => {
  const chunks: Buffer[] = []
  stream.on('data', chunk => chunks.push(chunk))
  stream.on('end', () => then(Buffer.concat(chunks)))
}

const server = createServer((incoming, response) =>
  whole(incoming, body => {
    const outgoing = request(
      {
        agent,
        host: '127.0.0.1',
        servername: destinationName,
        port,
        method: incoming.method,
        path: '/v1/charges',
        headers: {
          host: destinationName,
          'content-type': incoming.headers['content-type'],
          'content-length': body.length,
        },
      },
      answer =>
        whole(answer, content => {
          response.writeHead(answer.statusCode ?? 500, { 'content-length': content.length })
          response.end(content)
        }),
    )
    outgoing.on('error', error => response.destroy(error))
    outgoing.end(body)
  }),
)
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.stdout.write(`${typeof address === 'object' ? address?.port : ''}\n`)
})
