import { createServer } from 'node:https'
import { certificate } from '../server/test/rig/certificates.ts'
import { DnsServer } from '../server/test/rig/dns-server.ts'

/** Somebody else's server, with the DNS that finds it and the authority that vouches for it. Answers each request at once. */
export const destinationName = 'api.partner.example'

export type BenchDestination = { readonly port: number; readonly dns: string; readonly ca: string }

const answer = JSON.stringify({ paid: true, reference: 'x'.repeat(200) })

const run = async (): Promise<void> => {
  const ca = certificate('Bench CA')
  const { cert, key } = certificate(destinationName, ca)
  const dns = await DnsServer.start()
  dns.set(destinationName, { a: ['127.0.0.1'] })
  const server = createServer({ cert, key, keepAliveTimeout: 60_000 }, (request, response) => {
    request.resume()
    request.on('end', () => {
      response.setHeader('content-type', 'application/json')
      response.setHeader('content-length', Buffer.byteLength(answer))
      response.end(answer)
    })
  })
  server.listen(0, '127.0.0.1', () => {
    const address = server.address()
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0
    const told: BenchDestination = { port, dns: dns.address, ca: ca.cert }
    process.stdout.write(`${JSON.stringify(told)}\n`)
  })
}

if (import.meta.main) await run()
