import assert from 'node:assert/strict'
import { cpSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { VaultError } from '../../src/domain/errors.ts'
import type { JsonObject } from '../../src/domain/json/json.ts'
import { TamperedError } from '../../src/domain/tampered-error.ts'
import { fileKeyProvider } from '../../src/keys/file/file-key-provider.ts'
import { KeyProviderError } from '../../src/keys/key-provider.ts'
import { authenticate } from '../../src/operations/keys/authenticate.ts'
import { getToken } from '../../src/operations/tokens/get-token.ts'
import { openVault } from '../../src/operations/vault/open-vault.ts'
import { StoreUnavailableError } from '../../src/store/port.ts'
import { ForeignSchemaError } from '../../src/store/sqlite/own-storage.ts'
import { openSqlite } from '../../src/store/sqlite/sqlite-store.ts'
import { endlessTurn, someAct } from '../rig/caller-of.ts'
import { Seeded } from '../rig/seeded.ts'
import { temporaryFolder } from '../rig/temporary-folder.ts'
import { owner, TestVault } from '../rig/test-vault.ts'

const tokens = 60
const copiesOfEachKind = 8

/** Errors that name what is wrong; anything else would be a crash. */
const isNamed = (error: unknown): boolean =>
  error instanceof StoreUnavailableError ||
  error instanceof TamperedError ||
  error instanceof KeyProviderError ||
  error instanceof VaultError ||
  error instanceof ForeignSchemaError ||
  (error instanceof Error && 'errcode' in error)

describe('mutilated copies of the database and its log (sqlite)', () => {
  let vault: TestVault
  let key: string
  const values = new Map<string, string>()
  before(async () => {
    vault = await TestVault.start({})
    key = (await vault.tenant({ owner })).keys.owner
    for (let n = 0; n < tokens; n++) {
      const data = `value ${n} ${'x'.repeat(200)}`
      const { id } = await vault.create(key, { type: 'token', data })
      values.set(id, data)
      // One part is in the database itself, the rest in its log.
      if (n === tokens / 2) await vault.store.shred()
    }
  })
  after(() => vault.stop())

  type Mutilation = (bytes: Buffer, random: Seeded) => Buffer
  const mutilations: Record<string, Mutilation> = {
    'cut short': (bytes, random) => bytes.subarray(0, random.below(bytes.length)),
    'with a torn page': (bytes, random) => {
      const start = random.below(bytes.length)
      return bytes.fill(0, start, start + 2_048)
    },
    'with flipped bits': (bytes, random) => {
      for (let n = 0; n < 20; n++) {
        const at = random.below(bytes.length)
        bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8))
      }
      return bytes
    },
    'with two pages exchanged': (bytes, random) => {
      const page = (): number => random.below(Math.floor(bytes.length / 4_096)) * 4_096
      const [one, other] = [page(), page()]
      const kept = Buffer.from(bytes.subarray(one, one + 4_096))
      bytes.copy(bytes, one, other, other + 4_096)
      kept.copy(bytes, other)
      return bytes
    },
    'that is empty': () => Buffer.alloc(0),
  }

  for (const file of ['vault.db', 'vault.db-wal'])
    for (const [name, mutilate] of Object.entries(mutilations))
      test(`a ${file} ${name} is refused or read correctly, never wrongly (C2.23)`, async () => {
        const seed = 1
        const random = new Seeded(seed)
        for (let copy = 0; copy < copiesOfEachKind; copy++) {
          const folder = temporaryFolder()
          try {
            cpSync(vault.folder.path, folder.path, { recursive: true })
            truncateSync(join(folder.path, 'vault.db-shm'))
            const path = join(folder.path, file)
            writeFileSync(path, mutilate(readFileSync(path), random))
            await readAll(folder.path)
          } catch (error) {
            throw new Error(`seed ${seed}, copy ${copy}`, { cause: error })
          } finally {
            folder.remove()
          }
        }
      })

  test('control: an undamaged copy has everything', async () => {
    const folder = temporaryFolder()
    cpSync(vault.folder.path, folder.path, { recursive: true })
    assert.equal(await readAll(folder.path), tokens)
    folder.remove()
  })

  /** Reads every token, as far as storage can be opened. Returns how many were read. */
  const readAll = async (folder: string): Promise<number> => {
    const named = async <T>(work: () => T | Promise<T>): Promise<T | undefined> => {
      try {
        return await work()
      } catch (error) {
        assert.ok(isNamed(error), `${error}`)
        return undefined
      }
    }
    const store = await named(() => openSqlite({ path: join(folder, 'vault.db'), writing: 'inline' }))
    if (store === undefined) return 0
    let found = 0
    const keyProvider = fileKeyProvider(join(folder, 'master.key'))
    const opened = await named(() => openVault({ store, keyProvider, clock: () => vault.now }))
    const known = opened && (await named(async () => authenticate(opened, key)))
    const caller = known && { ...known, work: endlessTurn, act: someAct() }
    if (opened !== undefined && caller !== undefined)
      for (const [id, data] of values) {
        const token = await named((): Promise<JsonObject> => getToken(opened, caller, id))
        if (token === undefined) continue
        assert.equal(token.data, data)
        found++
      }
    await named(() => store.close())
    return found
  }
})
