// What the package lets others import.
// biome-ignore-all lint/performance/noBarrelFile: a package has one entry.
export type { CallOptions, VaultOptions, WriteOptions } from './connection.ts'
export {
  ConnectionError,
  KeyTextLostError,
  TimedOutError,
  VaultError,
  WebhookInvalidError,
} from './errors.ts'
export { ExactNumber } from './exact-json.ts'
export * from './generated/errors.ts'
export type * from './generated/types.ts'
export type { Page, Pages } from './pages.ts'
export type { ProxyRequest } from './proxy.ts'
export { type Tokenized, Vault } from './vault.ts'
export { type DeliveredEvent, type Delivery, verifyWebhook } from './verify-webhook.ts'
