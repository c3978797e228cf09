/** A key as storage keeps it: readable only through the key provider. */
export type WrappedKey = { readonly purpose: string; readonly version: number; readonly wrapped: Uint8Array }

/** Owns the keys of the vault itself, as a tenant's id owns the tenant's. */
export const vaultOwner = 'vault'

/** What a key is wrapped for: it opens as no other key, and for no other owner. */
export const contextOf = (owner: string, { purpose, version }: Omit<WrappedKey, 'wrapped'>): string =>
  `strongroom/${owner}/${purpose}/${version}`
