import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'
import { Memo } from '../domain/memo.ts'
import { TamperedError } from '../domain/tampered-error.ts'
import type { Instant } from '../domain/time/instant.ts'
import { open, type SealContext, seal } from './aead.ts'

const hourMs = 3_600_000
const keysRemembered = 4_096

/**
 * Seals the blocks of logs. Each log has a key of its own for each hour, derived from the vault's: so a tenant's records outlive the
 * tenant's keys, and no key comes near its limit of nonces. The time of a block decides its hour, and is authenticated.
 */
export class LogSeal {
  readonly #key: KeyObject
  readonly #keys = new Memo<KeyObject>(keysRemembered)

  constructor(key: KeyObject) {
    this.#key = key
  }

  seal(tenantId: string, times: BlockTimes, text: string): Buffer {
    return seal(this.#keyOf(tenantId, times), 1, text, contextOf(tenantId, times))
  }

  /** Throws a TamperedError if the block was not sealed for this log and these times. */
  open(tenantId: string, block: BlockTimes & { readonly sealed: Uint8Array }): string {
    const text = open(this.#keyOf(tenantId, block), block.sealed, contextOf(tenantId, block))
    if (text === undefined) throw new TamperedError({ kind: 'block of the log', tenantId })
    return text.toString('utf8')
  }

  #keyOf(tenantId: string, { lastAt }: BlockTimes): KeyObject {
    const name = `${tenantId} ${Math.floor(lastAt / hourMs)}`
    let key = this.#keys.get(name)
    if (key === undefined) {
      const bytes = Buffer.from(hkdfSync('sha256', this.#key, '', `strongroom log ${name}`, 32))
      key = createSecretKey(bytes)
      bytes.fill(0)
      this.#keys.set(name, key)
    }
    return key
  }
}

/** The earliest and the latest time of a block's records. */
export type BlockTimes = { readonly firstAt: Instant; readonly lastAt: Instant }

const contextOf = (tenantId: string, { firstAt, lastAt }: BlockTimes): SealContext => [
  'log',
  tenantId,
  firstAt,
  lastAt,
]
