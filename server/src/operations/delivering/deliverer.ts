import { describeError } from '../../domain/log.ts'
import { TamperedError } from '../../domain/tampered-error.ts'
import type { Effect } from '../../store/write-set.ts'
import { openWebhook } from '../grants/resource-rows.ts'
import type { LogOwner } from '../log/log-owner.ts'
import type { Vault } from '../vault/vault.ts'
import { DeliverySlots } from './delivery-slots.ts'
import { disableWebhook } from './disable-webhook.ts'
import { commitDeliveries, type DeliveryRig, WebhookRunner } from './webhook-runner.ts'

/** Tenants that are looked at beside each other. */
const tenantsAtOnce = 16
/** How long a stopping node waits for deliveries that are under way, before it breaks them off: another one repeats them. */
const lastDeliveriesMs = 3_000

type TenantRunners = {
  readonly owner: LogOwner
  readonly runners: Map<string, WebhookRunner>
  /** The tenant's revision as of which its webhooks were read; undefined if they must be read again. */
  revision: number | undefined
}

/**
 * Delivers the events of all tenants to their webhooks (E4), on the node that holds the lease. Each second it looks how far the logs
 * have come. Whatever it keeps in memory, storage has as well, up to a second ago.
 */
export class Deliverer {
  readonly #vault: Vault
  readonly #rig: DeliveryRig
  readonly #tenants = new Map<number, TenantRunners>()
  /** The epoch of grants as of which the webhooks were read. */
  #epoch: number | undefined
  /** Webhooks that do not open, which were complained about. */
  readonly #unreadable = new Set<string>()
  #hasWebhooks = false

  constructor(vault: Vault, random: () => number = Math.random) {
    this.#vault = vault
    this.#rig = {
      vault,
      slots: new DeliverySlots(),
      random,
      disable: (owner, webhookId, reason) => disableWebhook(vault, owner, webhookId, reason),
    }
  }

  /** Whether any tenant has webhooks. Asked without the lease, so that a vault without any asks for none. */
  async isNeeded(): Promise<boolean> {
    const epoch = this.#vault.store.grantsEpoch()
    if (epoch !== this.#askedEpoch) {
      this.#hasWebhooks = (await this.#vault.store.listResourceOwners('webhook')).length > 0
      this.#askedEpoch = epoch
    }
    return this.#hasWebhooks
  }

  #askedEpoch: number | undefined

  /** One look: at what webhooks there are, how far logs have come, and what is due; then stores how far it has come. */
  async look(): Promise<void> {
    await this.#readWebhooks()
    const tenants = [...this.#tenants.values()]
    for (let at = 0; at < tenants.length; at += tenantsAtOnce)
      await Promise.all(tenants.slice(at, at + tenantsAtOnce).map(tenant => this.#lookAt(tenant)))
  }

  /** Resolves once nothing is under way. */
  async settled(): Promise<void> {
    const runners = [...this.#tenants.values()].flatMap(tenant => [...tenant.runners.values()])
    await Promise.all(runners.map(runner => runner.settled()))
  }

  /** Somebody else delivers from now on, or nobody. */
  async stop({ keeps = true }: { readonly keeps?: boolean } = {}): Promise<void> {
    const tenants = [...this.#tenants.values()]
    this.#tenants.clear()
    this.#epoch = undefined
    const all = tenants.flatMap(({ runners }) => [...runners.values()])
    const ended = Promise.all(all.map(runner => runner.stop({ now: false })))
    const timer = setTimeout(
      () => {
        for (const runner of all) void runner.stop({ now: true })
      },
      keeps ? lastDeliveriesMs : 0,
    )
    await ended
    clearTimeout(timer)
    if (keeps) await Promise.allSettled(tenants.map(tenant => this.#store(tenant)))
  }

  async #lookAt(tenant: TenantRunners): Promise<void> {
    const { owner, runners } = tenant
    try {
      await this.#store(tenant)
      const heads = await this.#vault.store.listLogHeads(owner.tenantNumber)
      for (const runner of runners.values()) {
        await runner.repeatDue()
        runner.look(heads)
      }
    } catch (error) {
      // Storage does not answer: the next look tries again.
      this.#vault.log.error(
        { tenant: owner.tenantNumber, ...describeError(error) },
        'events are not delivered',
      )
    }
  }

  async #store({ owner, runners }: TenantRunners): Promise<void> {
    const dirt = [...runners.values()].map(runner => runner.takeDirt())
    const effects = dirt.flatMap(({ effects: own }) => own)
    if (effects.length === 0) return
    try {
      if (!(await commitDeliveries(this.#vault, owner, effects))) await this.#forget(owner)
    } catch (error) {
      for (const { putBack } of dirt) putBack()
      throw error
    }
  }

  /** Its tenant is gone. */
  async #forget({ tenantNumber }: LogOwner): Promise<void> {
    const tenant = this.#tenants.get(tenantNumber)
    this.#tenants.delete(tenantNumber)
    await Promise.all([...(tenant?.runners.values() ?? [])].map(runner => runner.stop({ now: true })))
  }

  async #readWebhooks(): Promise<void> {
    const { store } = this.#vault
    const epoch = store.grantsEpoch()
    if (epoch === this.#epoch) return
    const owners = new Map(
      (await store.listResourceOwners('webhook')).map(({ tenant, revision }) => [tenant, revision]),
    )
    for (const { owner } of this.#tenants.values())
      if (!owners.has(owner.tenantNumber)) await this.#endAll(owner)
    // The epoch is that of all tenants, so most of them have changed nothing.
    for (const [tenantNumber, revision] of owners)
      if (this.#tenants.get(tenantNumber)?.revision !== revision)
        await this.#readWebhooksOf(tenantNumber, revision)
    this.#epoch = epoch
  }

  /** The last webhook of a tenant is gone, or the tenant is. */
  async #endAll(owner: LogOwner): Promise<void> {
    const row = await this.#vault.store.getTenant(owner.tenantNumber)
    await this.#forget(owner)
    if (row?.id === owner.keys.tenantId) await this.#dropOrphans(owner, [])
  }

  async #readWebhooksOf(tenantNumber: number, revision: number): Promise<void> {
    const { store, vaultKeys } = this.#vault
    const row = await store.getTenant(tenantNumber)
    if (row === undefined) return this.#forget({ tenantNumber, keys: { tenantId: '' } })
    const known = this.#tenants.get(tenantNumber)
    const owner = { tenantNumber, keys: { tenantId: row.id } }
    const tenant = known ?? { owner, runners: new Map(), revision: undefined }
    this.#tenants.set(tenantNumber, tenant)
    const rows = (await store.listResources(tenantNumber)).filter(({ kind }) => kind === 'webhook')
    for (const [id, runner] of tenant.runners)
      if (!rows.some(webhook => webhook.id === id)) {
        tenant.runners.delete(id)
        await runner.stop({ now: true })
      }
    let allOpen = true
    for (const resource of rows) {
      try {
        const webhook = openWebhook(vaultKeys, resource, row.id)
        const runner = tenant.runners.get(webhook.id)
        if (webhook.status === 'disabled') {
          if (runner !== undefined) await this.#retire(tenant, runner)
        } else if (runner === undefined)
          tenant.runners.set(webhook.id, await WebhookRunner.start(this.#rig, tenant.owner, webhook))
        else runner.webhook = webhook
      } catch (error) {
        if (!(error instanceof TamperedError)) throw error
        allOpen = false
        if (!this.#unreadable.has(resource.id))
          this.#vault.log.error(describeError(error), 'a webhook does not open: nothing is delivered to it')
        this.#unreadable.add(resource.id)
      }
    }
    if (known === undefined)
      await this.#dropOrphans(
        tenant.owner,
        rows.map(({ id }) => id),
      )
    // The revision is not sealed: one that no commit can expect says nothing.
    tenant.revision = allOpen && revision > 0 ? revision : undefined
  }

  /** It is disabled, and goes on from here when it is enabled again. */
  async #retire(tenant: TenantRunners, runner: WebhookRunner): Promise<void> {
    await runner.stop({ now: true })
    await this.#store(tenant)
    tenant.runners.delete(runner.webhook.id)
  }

  /** What was stored about a webhook while somebody else deleted it. */
  async #dropOrphans(owner: LogOwner, webhookIds: readonly string[]): Promise<void> {
    const stored = await this.#vault.store.listDeliveryOwners(owner.tenantNumber)
    const effects = stored
      .filter(id => !webhookIds.includes(id))
      .map((webhookId): Effect => ({ kind: 'dropDeliveries', webhookId }))
    if (effects.length > 0) await commitDeliveries(this.#vault, owner, effects)
  }
}
