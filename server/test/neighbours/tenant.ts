import { setTimeout as sleep } from 'node:timers/promises'
import type { Keys } from './generator.ts'

const attemptsMax = 10

type Grants = {
  readonly type?: 'public' | 'private' | 'management'
  readonly permissions?: readonly string[]
  readonly rules?: readonly object[]
}

/** A tenant that an attack is prepared for: its keys, what it stores beforehand, and the bytes of requests. */
export class Tenant {
  readonly keys: Keys
  /** Where the vault may call; ends with a slash. */
  readonly farUrl: string
  readonly url: string

  constructor(url: string, keys: Keys, farUrl = '') {
    this.url = url
    this.keys = keys
    this.farUrl = farUrl
  }

  /** Must succeed. */
  // biome-ignore lint/suspicious/noExplicitAny: attacks look into answers freely
  async call(method: string, path: string, key: string, body?: unknown): Promise<any> {
    const reply = await this.#fetch(method, path, key, body)
    if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${await reply.text()}`)
    return reply.json()
  }

  async application(grants: Grants): Promise<{ id: string; key: string }> {
    const body = { name: 'of an attack', type: 'private', ...grants }
    return this.call('POST', '/applications', this.keys.management_api_key, body)
  }

  /** A key with these permissions on every container, and reads under the mask; `public` where that is enough. */
  async key(...permissions: readonly string[]): Promise<string> {
    const isPublic = permissions.every(permission => permission === 'token:create')
    return (await this.application({ type: isPublic ? 'public' : 'private', permissions })).key
  }

  /** Stores the first of these tokens that is not refused: what one release accepts is too expensive for the next. */
  async firstAccepted(tokens: readonly object[]): Promise<{ id: string; token: object }> {
    for (const token of tokens) {
      const reply = await this.#fetch('POST', '/tokens', this.keys.api_key, token)
      if (reply.ok) return { id: ((await reply.json()) as { id: string }).id, token }
      await reply.body?.cancel()
    }
    throw new Error('every token was refused')
  }

  async store(count: number, token: object): Promise<readonly string[]> {
    const ids: string[] = []
    for (let n = 0; n < count; n++)
      ids.push((await this.call('POST', '/tokens', this.keys.api_key, token)).id)
    return ids
  }

  /** One at a time, and again where the vault says so: preparing is no attack. */
  async #fetch(method: string, path: string, key: string, body: unknown): Promise<Response> {
    for (let attempt = 1; ; attempt++) {
      const reply = await fetch(this.url + path, {
        method,
        headers: { 'svc-api-key': key, ...(body !== undefined && { 'content-type': 'application/json' }) },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      if (reply.status !== 503 || attempt === attemptsMax) return reply
      await reply.body?.cancel()
      await sleep(1_000 * Number(reply.headers.get('retry-after') ?? 1))
    }
  }
}

/** The bytes of a request. */
export const request = (
  method: string,
  path: string,
  key: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Buffer => {
  const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body)
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
  const all = {
    host: 'vault',
    'svc-api-key': key,
    ...(body !== undefined && { 'content-type': type, 'content-length': String(Buffer.byteLength(text)) }),
    ...headers,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${text}`)
}
