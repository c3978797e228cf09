import { openGrant, sealGrant } from '../../crypto/grant-seal.ts'
import type { VaultKeys } from '../../crypto/keys.ts'
import type { OutboundProxy } from '../../domain/proxies/proxy.ts'
import { Secret } from '../../domain/secret.ts'
import { TamperedError } from '../../domain/tampered-error.ts'
import type { Webhook } from '../../domain/webhooks/webhook.ts'
import type { ResourceKind, ResourceRow, WithoutTenant } from '../../store/rows.ts'

/** A row with what it says, opened. */
export type Stored<R> = { readonly row: ResourceRow; readonly resource: R }

type Identity = Pick<ResourceRow, 'id' | 'hash'>

/** Bound to the hash too, so that the key of one proxy finds no other. */
const identityOf = ({ id, hash }: Identity, tenantId: string) => [
  id,
  tenantId,
  hash === null ? null : Buffer.from(hash).toString('hex'),
]

export const proxyRow = (
  keys: VaultKeys,
  tenantId: string,
  proxy: OutboundProxy,
  /** Of its key. */
  hash: ResourceRow['hash'],
): WithoutTenant<ResourceRow> => {
  const identity = { id: proxy.id, hash }
  const configuration = Object.entries(proxy.configuration).map(
    ([name, value]) => [name, value.expose('sealing a proxy')] as const,
  )
  const stored = { ...proxy, configuration: Object.fromEntries(configuration) }
  return {
    kind: 'proxy' satisfies ResourceKind,
    ...identity,
    sealed: sealGrant(keys, 'proxy', identityOf(identity, tenantId), stored),
  }
}

export const openProxy = (
  keys: VaultKeys,
  row: Omit<ResourceRow, 'tenant'>,
  tenantId: string,
): OutboundProxy => {
  const stored = openGrant(keys, 'proxy', identityOf(row, tenantId), row.sealed)
  const configuration = Object.entries(stored.configuration).map(
    ([name, value]) => [name, new Secret(value)] as const,
  )
  return { ...stored, configuration: Object.fromEntries(configuration) }
}

export const webhookRow = (
  keys: VaultKeys,
  tenantId: string,
  webhook: Webhook,
): WithoutTenant<ResourceRow> => {
  const identity = { id: webhook.id, hash: null }
  const secrets = webhook.secrets.map(secret => ({
    ...secret,
    value: secret.value.expose('sealing a webhook'),
  }))
  return {
    kind: 'webhook' satisfies ResourceKind,
    ...identity,
    sealed: sealGrant(keys, 'webhook', identityOf(identity, tenantId), { ...webhook, secrets }),
  }
}

export const openWebhook = (keys: VaultKeys, row: Omit<ResourceRow, 'tenant'>, tenantId: string): Webhook => {
  const stored = openGrant(keys, 'webhook', identityOf(row, tenantId), row.sealed)
  return {
    ...stored,
    secrets: stored.secrets.map(secret => ({ ...secret, value: new Secret(secret.value) })),
  }
}

export type Resources = {
  readonly proxies: readonly Stored<OutboundProxy>[]
  readonly webhooks: readonly Stored<Webhook>[]
}

/** Opens all resources of a tenant. A row of a kind that there is not does not open either. */
export const openResources = (keys: VaultKeys, rows: readonly ResourceRow[], tenantId: string): Resources => {
  const proxies: Stored<OutboundProxy>[] = []
  const webhooks: Stored<Webhook>[] = []
  for (const row of rows)
    if (row.kind === 'proxy') proxies.push({ row, resource: openProxy(keys, row, tenantId) })
    else if (row.kind === 'webhook') webhooks.push({ row, resource: openWebhook(keys, row, tenantId) })
    else throw new TamperedError({ kind: 'resource', id: row.id })
  return { proxies, webhooks }
}
