import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { assertAnswerRules, makeReply, type TestReply } from './answers.ts'
import type { TestVault } from './test-vault.ts'

/** Sends a request with all but the last character of its body. Returns once the vault has seen its head. */
export const holdRequest = async (
  vault: TestVault,
  method: string,
  path: string,
  { key, body }: { key: string; body: unknown },
): Promise<{ finish(): Promise<TestReply> }> => {
  const bytes = Buffer.from(JSON.stringify(body))
  const request = httpRequest(vault.baseUrl + path, {
    method,
    agent: false,
    headers: { 'svc-api-key': key, 'content-type': 'application/json', 'content-length': bytes.length },
  })
  const answered = once(request, 'response') as Promise<[IncomingMessage]>
  await new Promise<void>((resolve, reject) =>
    request.write(bytes.subarray(0, -1), error => (error ? reject(error) : resolve())),
  )
  // These are sent later and answered, so what was sent before has been read.
  for (let times = 0; times < 2; times++) await vault.send('GET', '/health')
  return {
    finish: async () => {
      request.end(bytes.subarray(-1))
      const [response] = await answered
      const headers = new Headers(response.headers as Record<string, string>)
      const reply = makeReply(response.statusCode ?? 0, headers, await text(response))
      assertAnswerRules(reply, method)
      return reply
    },
  }
}
