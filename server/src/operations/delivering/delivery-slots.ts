/** Of the calls that the vault makes for webhooks, deliveries leave some to tests of webhooks. */
const perTenant = 56
const inAll = 224
/** Each tenant may have this many under way, whatever others have. Beyond that, no more than half of all are taken. */
const alwaysMine = 8

/** How many deliveries may be under way: hanging receivers of one tenant must not keep other tenants waiting. */
export class DeliverySlots {
  readonly #taken = new Map<number, number>()
  #all = 0

  take(tenant: number): boolean {
    const taken = this.#taken.get(tenant) ?? 0
    if (this.#all >= inAll || taken >= perTenant || (taken >= alwaysMine && this.#all >= inAll / 2))
      return false
    this.#taken.set(tenant, taken + 1)
    this.#all++
    return true
  }

  give(tenant: number): void {
    const left = (this.#taken.get(tenant) ?? 0) - 1
    if (left > 0) this.#taken.set(tenant, left)
    else this.#taken.delete(tenant)
    this.#all--
  }
}
