import type { TenantKeys } from '../../crypto/keys.ts'
import { Memo } from '../../domain/memo.ts'

/** A memo for each tenant of what was made with its keys; it is forgotten together with them. */
export const memoPerTenant = <Value>(capacity: number): ((keys: TenantKeys) => Memo<Value>) => {
  const memos = new WeakMap<TenantKeys, Memo<Value>>()
  return keys => {
    let memo = memos.get(keys)
    if (memo === undefined) {
      memo = new Memo(capacity)
      memos.set(keys, memo)
    }
    return memo
  }
}
