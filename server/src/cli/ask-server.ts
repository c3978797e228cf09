import { type ClientRequest, request as requestPlainly } from 'node:http'
import { request as requestSecurely } from 'node:https'
import type { Config } from '../config/config.ts'
import { foreignCode } from '../domain/foreign-code.ts'
import { baseUrl } from './base-url.ts'
import { readTlsFiles } from './tls.ts'

/** Longer than the server itself takes to find out whether it is ready. */
const answerMs = 5_000

export type ServerAnswer = { readonly status: number; readonly body: unknown }

/** No answer came, for this reason. */
export class NoAnswerError extends Error {}

/** Where the server of these settings answers on this machine. */
export const ownUrl = (config: Config): string => {
  const loopback: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }
  return baseUrl({ ...config, host: loopback[config.host] ?? config.host }, config.port)
}

/** Asks the server of these settings, as a client that knows its certificate and nothing else. */
export const askServer = (config: Config, path: string): Promise<ServerAnswer> =>
  new Promise((resolve, reject) => {
    const url = `${ownUrl(config)}${path}`
    const fail = (error: unknown): void => reject(new NoAnswerError(whyNoAnswer(error)))
    // A client certificate is asked for where there is `tls-client-ca`. The server's own may be one.
    const { cert, key } = readTlsFiles(config) ?? {}
    const options = { agent: false, signal: AbortSignal.timeout(answerMs) } as const
    const sent: ClientRequest =
      cert === undefined
        ? requestPlainly(url, options)
        : requestSecurely(url, {
            ...options,
            ...{ cert, key, ca: cert, allowPartialTrustChain: true },
            // By the address of this machine, whatever name is in the certificate: it is compared as a whole.
            checkServerIdentity: () => undefined,
          })
    sent.on('error', fail)
    sent.on('response', response => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', fail)
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, body: parsed(Buffer.concat(chunks).toString()) }),
      )
    })
    sent.end()
  })

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const whyNoAnswer = (error: unknown): string => {
  const code = foreignCode(error)
  if (error instanceof Error && error.name === 'AbortError')
    return `there is no answer within ${answerMs / 1_000} seconds`
  if (code === 'ECONNREFUSED') return 'there is no answer: nothing listens there'
  if (code === 'ECONNRESET' || code === 'EPROTO' || code.startsWith('HPE_'))
    return 'there is no answer in this protocol: compare --tls-cert with the settings of the server'
  if (/CERT|SIGNATURE/.test(code))
    return `another certificate answers than the one in --tls-cert, or it is out of date (${code}): send SIGHUP to the server if the file is newer`
  if (code.startsWith('ERR_SSL'))
    return `the server refuses the connection (${code}): does --tls-client-ca ask for a certificate?`
  return `there is no answer (${code || (error instanceof Error ? error.message : '')})`
}
