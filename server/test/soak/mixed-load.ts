import assert from 'node:assert/strict'
import { Seeded } from '../rig/seeded.ts'

export type Keys = {
  readonly base_url: string
  readonly api_key: string
  readonly private_api_key: string
  readonly management_api_key: string
}

/** How many tokens exist after warm-up; from then on each new one replaces another. */
const tokensKept = 3_000
const idempotencyKeys = 500
const expiresAfterMs = 10_000

type Reply = { readonly status: number; readonly body: { readonly id?: string; readonly key?: string } }

/** Requests of every kind, chosen so that storage holds no more after an hour than after a minute. */
export class MixedLoad {
  readonly #keys: Keys
  readonly #random: Seeded
  readonly #ids: string[] = []
  readonly statuses = new Map<number, number>()
  requests = 0

  constructor(keys: Keys, seed: number) {
    this.#keys = keys
    this.#random = new Seeded(seed)
  }

  get isWarm(): boolean {
    return this.#ids.length >= tokensKept
  }

  /** One request, and whatever must follow so that no more is kept than before. */
  async step(): Promise<void> {
    const { api_key: general, private_api_key: reading, management_api_key: management } = this.#keys
    const id = this.#ids[this.#random.below(Math.max(1, this.#ids.length))] ?? 'nobody'
    const kinds: (() => Promise<unknown>)[] = [
      () => this.#create(),
      () => this.#create(),
      () => this.#tokenize(),
      () => this.#send('GET', `/tokens/${id}`, reading),
      () => this.#send('GET', `/tokens/${id}`, reading),
      () => this.#send('GET', '/tokens?metadata.group=7&size=10', reading),
      () => this.#send('GET', '/v2/tokens?size=20', reading),
      () => this.#send('POST', '/tokens/search', reading, { query: 'metadata.group:7 AND type:card' }),
      () => this.#send('PATCH', `/tokens/${id}`, general, { metadata: { group: this.#group() } }),
      () => this.#replay(),
      () => this.#passing(),
      () => this.#key(),
      () => this.#send('GET', '/tenants/self/reports/usage', management),
      // Refused requests must leave as little behind as successful ones.
      () => this.#send('POST', '/tokens', general, { type: 'card', data: { number: '1' } }),
      () => this.#send('GET', `/tokens/unknown-${this.#random.below(1e9)}`, reading),
      () => this.#send('GET', '/tokens', `key_private_${this.#random.below(1e9)}`),
      () => this.#send('POST', '/tokens', reading, {}),
    ]
    await this.#random.pick(kinds)?.()
  }

  #group(): string {
    return String(this.#random.below(50))
  }

  #card(): object {
    const data = { number: '4242424242424242', expiration_month: 12, expiration_year: 2030, cvc: '123' }
    return { type: 'card', data, metadata: { group: this.#group() } }
  }

  async #create(): Promise<void> {
    const { body } = await this.#send('POST', '/tokens', this.#keys.api_key, this.#card())
    assert.ok(body.id)
    await this.#keep([body.id])
  }

  async #tokenize(): Promise<void> {
    const values = Array.from({ length: 5 }, () => `value ${this.#random.below(1e9)}`)
    const { body } = await this.#send('POST', '/tokenize', this.#keys.api_key, values)
    await this.#keep(body as unknown as string[])
  }

  /** The same few keys over and over: only the first request with each creates something. */
  async #replay(): Promise<void> {
    const headers = { 'svc-idempotency-key': `soak-${this.#random.below(idempotencyKeys)}` }
    await this.#send('POST', '/tokens', this.#keys.api_key, { type: 'token', data: 'once' }, headers)
  }

  /** Removed by the sweep. */
  async #passing(): Promise<void> {
    const expires_at = new Date(Date.now() + expiresAfterMs).toISOString()
    await this.#send('POST', '/tokens', this.#keys.api_key, { type: 'token', data: 'passing', expires_at })
  }

  async #key(): Promise<void> {
    const { management_api_key: management } = this.#keys
    const body = { name: 'passing', type: 'private', permissions: ['token:read'] }
    const made = await this.#send('POST', '/applications', management, body)
    await this.#send('GET', '/tokens?size=1', String(made.body.key))
    await this.#send('DELETE', `/applications/${made.body.id}`, management)
  }

  async #keep(ids: readonly string[]): Promise<void> {
    this.#ids.push(...ids)
    while (this.#ids.length > tokensKept) {
      const at = this.#random.below(this.#ids.length)
      const [gone] = this.#ids.splice(at, 1)
      await this.#send('DELETE', `/tokens/${gone}`, this.#keys.private_api_key)
    }
  }

  async #send(
    method: string,
    path: string,
    key: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Reply> {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
    const reply = await fetch(this.#keys.base_url + path, {
      method,
      headers: { 'svc-api-key': key, ...(body !== undefined && { 'content-type': type }), ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await reply.text()
    this.requests++
    this.statuses.set(reply.status, (this.statuses.get(reply.status) ?? 0) + 1)
    return { status: reply.status, body: text === '' ? {} : JSON.parse(text) }
  }
}
