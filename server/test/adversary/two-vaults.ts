import assert from 'node:assert/strict'
import type { Engine } from '../rig/engines.ts'
import { type TestApplication, TestVault } from '../rig/test-vault.ts'

/**
 * Non-interference, as an oracle. Two vaults hold the same tokens except for the secrets in them. Every request of an
 * attacker goes to both, and the attacker has learnt something exactly where the two answers differ. Random names (ids,
 * fingerprints) are replaced by the order in which they were first seen. That leaves only which of them are equal, and
 * an attacker could use no more than that.
 */
export class TwoVaults {
  readonly #vaults: readonly [TestVault, TestVault]

  private constructor(vaults: readonly [TestVault, TestVault]) {
    this.#vaults = vaults
  }

  static async start(engine: Engine): Promise<TwoVaults> {
    return new TwoVaults([await TestVault.start({ engine }), await TestVault.start({ engine })])
  }

  async stop(): Promise<void> {
    await Promise.all(this.#vaults.map(vault => vault.stop()))
  }

  /** A fresh tenant on each side with these tokens in it, and the attacker's applications by name. */
  async attack<Name extends string>(
    applications: Record<Name, TestApplication>,
    victims: readonly [readonly unknown[], readonly unknown[]],
    { deduplicates = false }: { deduplicates?: boolean } = {},
  ): Promise<Attack<Name>> {
    const owner: TestApplication = { permissions: ['token:create'] }
    const now = Math.max(...this.#vaults.map(vault => vault.now))
    const sides = await Promise.all(
      this.#vaults.map(async (vault, index) => {
        vault.now = now
        const { keys } = await vault.tenant<string>(
          { ...applications, owner },
          { deduplicateTokens: deduplicates },
        )
        const planted = await vault.post('/tokenize', String(keys.owner), victims[index])
        assert.equal(planted.status, 200, planted.text)
        vault.now++
        return new Side(vault, keys)
      }),
    )
    return new Attack(sides as [Side, Side])
  }
}

/** What an attacker sees of one answer: the same on both sides, or the attacker has won. */
export type Seen = {
  readonly status: number
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: strategies look into answers freely
  readonly body: any
}

export type AttackRequest<Name extends string = string> = {
  readonly as: Name
  readonly method: string
  readonly path: string
  readonly body?: unknown
}

export class Attack<Name extends string> {
  readonly #sides: readonly [Side, Side]
  sent = 0
  /** How many answers had each status: an attack of nothing but 400s attacks nothing. */
  readonly statuses = new Map<number, number>()

  constructor(sides: readonly [Side, Side]) {
    this.#sides = sides
  }

  async send(request: AttackRequest<Name>): Promise<Seen> {
    this.sent++
    const [left, right] = await Promise.all(this.#sides.map(side => side.send(request)))
    assert.ok(left && right)
    assert.deepEqual(
      left,
      right,
      `request ${this.sent} tells the secrets apart: ${request.method} ${request.path} ${JSON.stringify(request.body)}`,
    )
    this.statuses.set(left.status, (this.statuses.get(left.status) ?? 0) + 1)
    return {
      status: left.status,
      text: left.text,
      body: left.text === '' ? undefined : JSON.parse(left.text),
    }
  }

  get(as: Name, path: string): Promise<Seen> {
    return this.send({ as, method: 'GET', path })
  }
  post(as: Name, path: string, body: unknown): Promise<Seen> {
    return this.send({ as, method: 'POST', path, body })
  }
  patch(as: Name, path: string, body: unknown): Promise<Seen> {
    return this.send({ as, method: 'PATCH', path, body })
  }

  /** Moves both clocks. */
  wait(milliseconds: number): void {
    for (const side of this.#sides) side.vault.now += milliseconds
  }
}

type Transcript = { status: number; headers: Record<string, string>; text: string }

/** One of the two vaults, with the names it has given away so far. */
class Side {
  readonly vault: TestVault
  readonly #keys: Record<string, string>
  readonly #names = new Map<string, string>()

  constructor(vault: TestVault, keys: Record<string, string>) {
    this.vault = vault
    this.#keys = keys
  }

  async send({ as, method, path, body }: AttackRequest): Promise<Transcript> {
    const key = this.#keys[as]
    assert.ok(key, `no application ${as}`)
    const reply = await this.vault.send(method, this.#toReal(path, encodeURIComponent), {
      key,
      // The caller may choose it; otherwise it would be random on each side.
      headers: { 'svc-trace-id': 'attacker-0001' },
      ...(body !== undefined && { raw: this.#toReal(JSON.stringify(body), text => text) }),
    })
    // Tokens created in the same millisecond would be listed in the order of their random ids.
    this.vault.now++
    if (reply.body !== undefined) this.#learn(reply.body)
    const headers = Object.fromEntries(
      [...reply.headers].filter(
        ([name]) => !['date', 'content-length', 'keep-alive', 'svc-audit'].includes(name),
      ),
    )
    return {
      status: reply.status,
      headers: { ...headers, location: this.#toNames(headers.location ?? '') },
      text: this.#toNames(reply.text),
    }
  }

  /** Names each id and fingerprint when it is first seen. */
  #learn(value: unknown): void {
    if (Array.isArray(value)) for (const item of value) this.#learn(item)
    else if (typeof value === 'object' && value !== null)
      for (const [key, item] of Object.entries(value)) {
        if (typeof item !== 'string') this.#learn(item)
        else if (key === 'fingerprint' || key === 'next') this.#name(item, key)
        else if (uuid.test(item)) this.#name(item, 'uuid')
      }
    else if (typeof value === 'string' && uuid.test(value)) this.#name(value, 'uuid')
  }

  #name(text: string, kind: string): void {
    if (!this.#names.has(text)) this.#names.set(text, `<${kind} ${this.#names.size + 1}>`)
  }

  #toNames(text: string): string {
    let named = text
    for (const [real, name] of this.#names) named = named.replaceAll(real, name)
    return named
  }

  #toReal(text: string, write: (real: string) => string): string {
    let real = text
    for (const [actual, name] of this.#names) real = real.replaceAll(name, write(actual))
    return real
  }
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
