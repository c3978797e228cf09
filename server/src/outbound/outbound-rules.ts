/** Addresses that may be called though they are not public, on one port or on every port that is allowed. */
export type AllowedNetwork = { readonly network: string; readonly port: number | undefined }

/** What the operator says about what may be called on a tenant's word (U17). Networks are addresses, or written as 10.1.0.0/16. */
export type OutboundRules = {
  readonly allow: readonly AllowedNetwork[]
  readonly deny: readonly string[]
  /** Besides 443. */
  readonly ports: readonly number[]
}

/** All that the operator says about calls of other servers. */
export type OutboundSettings = OutboundRules & {
  /** Servers to resolve names with, as addresses with ports; none: the system's. */
  readonly dns: readonly string[]
  /** Authorities (PEM) that destinations' certificates may come from, besides those that Node trusts. */
  readonly ca: string | undefined
  /** The name under which this vault is reached, if it has one. */
  readonly ownHost: string | undefined
}

export const standardOutbound: OutboundSettings = {
  allow: [],
  deny: [],
  ports: [],
  dns: [],
  ca: undefined,
  ownHost: undefined,
}
