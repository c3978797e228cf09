import type { Act } from '../../domain/acts/act.ts'
import type { Instant } from '../../domain/time/instant.ts'
import { type LogOwner, theOperator } from './log-owner.ts'

type Refusal = { readonly owner: LogOwner; readonly act: Act }

/** Records of refusals of one log in one second; those beyond are one record together. */
const recordsPerSecond = 256

/**
 * Refusals that name no token, merged per key, operation, status, address and second: a public key in ten thousand browsers must
 * not be able to fill the disk. Each has the time and the trace id of the first, and how many they were.
 */
export class MergedRefusals {
  readonly #merged = new Map<string, Refusal>()
  /** How many records each log gets of this second. */
  readonly #records = new Map<number, number>()
  #second = 0

  get size(): number {
    return this.#merged.size
  }

  /** Returns what earlier seconds have left. */
  add(owner: LogOwner, act: Act): Refusal[] {
    const due = this.takeDue(act.at)
    this.#second = secondOf(act.at)
    let name = nameOf(owner, act)
    if (!this.#merged.has(name)) {
      const records = this.#records.get(owner.tenantNumber) ?? 0
      if (records < recordsPerSecond) this.#records.set(owner.tenantNumber, records + 1)
      else name = `further ones of ${owner.tenantNumber}`
    }
    const known = this.#merged.get(name)
    if (known === undefined) this.#merged.set(name, { owner, act })
    else known.act.says({ count: (known.act.details?.count ?? 1) + 1 })
    return due
  }

  /** What seconds before this one have left. */
  takeDue(now: Instant): Refusal[] {
    return secondOf(now) === this.#second ? [] : this.takeAll()
  }

  takeAll(): Refusal[] {
    const all = [...this.#merged.values()]
    this.#merged.clear()
    this.#records.clear()
    return all
  }
}

const secondOf = (at: Instant): number => Math.floor(at / 1_000)

/** Of strangers only where they call from. */
const nameOf = (owner: LogOwner, { actor, kind, status, address }: Act): string =>
  owner === theOperator
    ? networkOf(address)
    : [owner.tenantNumber, actor.id, actor.keyId, kind.operation, status, networkOf(address)].join(' ')

/** An IPv6 network of 64 bits is one caller: its addresses cost nothing. */
const networkOf = (address = ''): string => {
  if (!address.includes(':') || address.includes('.')) return address
  const [start = '', end] = address.split('::')
  const head = start.split(':').filter(group => group !== '')
  const tail = end === undefined ? [] : end.split(':').filter(group => group !== '')
  const zeros = end === undefined ? [] : Array.from({ length: 8 - head.length - tail.length }, () => '0')
  return [...head, ...zeros, ...tail].slice(0, 4).join(':')
}
