/**
 * A budget for memory in use by requests, in bytes: bodies that arrive, answers that nobody has read yet (C37). A tenant may hold
 * at most as much as is left for all others, so half of the budget is free for the next tenant. Within a tenant the same holds
 * for a key. Only those who have used up their part are refused more.
 */
export class ByteBudget {
  readonly #total: number
  readonly #tenants = new Map<unknown, Holder>()
  #held = 0

  constructor(total: number) {
    this.#total = total
  }

  get held(): number {
    return this.#held
  }

  account(tenant: unknown, key: unknown): ByteAccount {
    return new ByteAccount(this, tenant, key)
  }

  /** @internal */
  mayTake(tenant: unknown, key: unknown, bytes: number): boolean {
    const holder = this.#tenants.get(tenant)
    const ofTenant = holder?.held ?? 0
    const free = this.#total - this.#held
    const freeForKeys = (free + ofTenant) / 2 - ofTenant
    return ofTenant + bytes <= free && (holder?.keys.get(key) ?? 0) + bytes <= freeForKeys
  }

  /** @internal */
  move(tenant: unknown, key: unknown, bytes: number): void {
    const holder = this.#tenants.get(tenant) ?? { held: 0, keys: new Map<unknown, number>() }
    this.#held += bytes
    holder.held += bytes
    const ofKey = (holder.keys.get(key) ?? 0) + bytes
    if (ofKey > 0) holder.keys.set(key, ofKey)
    else holder.keys.delete(key)
    if (holder.keys.size > 0) this.#tenants.set(tenant, holder)
    else this.#tenants.delete(tenant)
  }
}

type Holder = { held: number; readonly keys: Map<unknown, number> }

/** What long work may ask for: more memory, as long as there is room. */
export type Room = Pick<ByteAccount, 'held' | 'hold'>

/** The part of the budget that one request holds. */
export class ByteAccount {
  readonly #budget: ByteBudget
  readonly #tenant: unknown
  readonly #key: unknown
  #held = 0

  constructor(budget: ByteBudget, tenant: unknown, key: unknown) {
    this.#budget = budget
    this.#tenant = tenant
    this.#key = key
  }

  get held(): number {
    return this.#held
  }

  /** Sets what the request holds. If it grows and there is no room, returns false and changes nothing. */
  hold(bytes: number): boolean {
    const more = bytes - this.#held
    if (more > 0 && !this.#budget.mayTake(this.#tenant, this.#key, more)) return false
    this.keep(bytes)
    return true
  }

  /** Sets what the request holds even without room, for bytes that are already in memory. */
  keep(bytes: number): void {
    if (bytes === this.#held) return
    this.#budget.move(this.#tenant, this.#key, bytes - this.#held)
    this.#held = bytes
  }
}
