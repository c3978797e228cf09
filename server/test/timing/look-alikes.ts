import assert from 'node:assert/strict'
import { newApiKeyText } from '../../src/crypto/api-key.ts'
import { newTokenId } from '../../src/crypto/uuid.ts'
import { granted } from '../rig/answers.ts'
import { ownerAndManager } from '../rig/applications.ts'
import { owner, type TestVault } from '../rig/test-vault.ts'

/** Two kinds of requests that their sender must not be able to tell apart, not even by the time they take. */
export type LookAlikes = {
  readonly name: string
  readonly kinds: readonly [Kind, Kind]
}
type Kind = {
  readonly name: string
  /** A request that was not sent before. */
  readonly next: () => Asked
}

/** A GET, or a POST of a body. */
export type Asked = { readonly path: string; readonly key: string; readonly body?: unknown }

/** `count` of each are prepared, so that none is used twice. */
export const prepareLookAlikes = async (vault: TestVault, count: number): Promise<LookAlikes[]> => {
  const own = await vault.tenant(ownerAndManager)
  const other = await vault.tenant({ owner })
  const others = await makeIds(vault, other.keys.owner, count)
  // Of the same form: what it costs to find an id is no secret, only whether it belongs to another tenant.
  const unknown = others.map(() => newTokenId(Date.now()))
  const revoked = await revokedKeys(vault, own.keys.manager, Math.min(count, 200))
  // Flattened by JSON, as the others were when read: a string made of pieces would take the client longer.
  const neverMade: string[] = JSON.parse(JSON.stringify(revoked.map(() => newApiKeyText('private'))))
  const turns = <T>(items: readonly T[]): (() => T) => {
    let at = 0
    return () => {
      const item = items[at++ % items.length]
      assert.ok(item !== undefined)
      return item
    }
  }
  const ids = (list: readonly string[]) => {
    const next = turns(list)
    return () => ({ path: `/tokens/${next()}`, key: own.keys.owner })
  }
  const payloads = (list: readonly string[]) => {
    const next = turns(list)
    return () => ({ path: '/detokenize', key: own.keys.owner, body: [`{{ ${next()} }}`] })
  }
  const keys = (list: readonly string[]) => {
    const next = turns(list)
    return () => ({ path: '/tokens/x-y-z', key: next() })
  }
  return [
    {
      name: "an unknown id and another tenant's",
      kinds: [
        { name: 'unknown', next: ids(unknown) },
        { name: "another tenant's", next: ids(others) },
      ],
    },
    {
      name: "an unknown id and another tenant's, in a payload",
      kinds: [
        { name: 'unknown', next: payloads(unknown) },
        { name: "another tenant's", next: payloads(others) },
      ],
    },
    {
      name: 'an unknown key and a revoked one',
      kinds: [
        { name: 'unknown', next: keys(neverMade) },
        { name: 'revoked', next: keys(revoked) },
      ],
    },
  ]
}

const makeIds = async (vault: TestVault, key: string, count: number): Promise<string[]> => {
  const ids: string[] = []
  while (ids.length < count) {
    const some = Array.from({ length: Math.min(500, count - ids.length) }, (_, n) => `value ${n}`)
    ids.push(...(granted(await vault.post('/tokenize', key, some)) as string[]))
  }
  return ids
}

const revokedKeys = async (vault: TestVault, manager: string, count: number): Promise<string[]> => {
  const { id } = granted(
    await vault.post('/applications', manager, {
      name: 'revoked',
      type: 'private',
      permissions: ['token:read'],
    }),
  )
  const texts: string[] = []
  for (let n = 0; n < count; n++) {
    const made = granted(await vault.post(`/applications/${id}/keys`, manager, {}))
    // It has worked once, so anything cached about keys is cached about this one.
    granted(await vault.get('/applications/key', made.key))
    granted(await vault.delete(`/applications/${id}/keys/${made.id}`, manager))
    texts.push(made.key)
  }
  return texts
}
