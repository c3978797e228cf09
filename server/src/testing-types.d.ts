/** A running vault with a tenant of its own. The keys are those of `strongroom dev`. */
export type RunningVault = {
  readonly base_url: string
  readonly tenant_id: string
  readonly keys: {
    /** Creates and updates tokens. */
    readonly api_key: string
    /** Reads, searches and deletes them, and sees everything. */
    readonly private_api_key: string
    /** Manages the tenant, its applications and keys. */
    readonly management_api_key: string
  }
  /** Ends the vault, and removes its folder unless you named one. */
  stop(): Promise<void>
}

export type VaultOptions = {
  /** Keeps data, master key and API keys there. A vault that is already there goes on. Only one process may use it at a time. */
  readonly folder?: string
  /** By default a free one. The vault listens on 127.0.0.1. */
  readonly port?: number
  /** Milliseconds since 1970, by default `Date.now`: moved ahead, tokens expire and a cvc is gone. It must not go back. */
  readonly clock?: () => number
}

/** Starts a real vault, for tests: the same code as `strongroom serve`, in this process. Needs Node 26 or newer. */
export declare const startVault: (options?: VaultOptions) => Promise<RunningVault>
