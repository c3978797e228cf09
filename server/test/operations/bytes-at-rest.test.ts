import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { devApplications, TestVault } from '../rig/test-vault.ts'

test('tokens created in one request are stored one after the other, in well-filled pages (sqlite) (§4.1.1)', async () => {
  const vault = await TestVault.start()
  try {
    const { general } = (await vault.tenant(devApplications)).keys
    for (const round of [1, 2, 3]) {
      const texts = Array.from({ length: 1_000 }, (_, n) => ({
        type: 'token',
        data: `${round} ${n}`,
        containers: ['/one/for/all/'],
      }))
      assert.equal((await vault.post('/tokenize', general, texts)).status, 200)
    }
    await vault.store.shred()
    const database = new DatabaseSync(join(vault.folder.path, 'vault.db'), { readOnly: true })
    const unusedOf = database.prepare(
      'SELECT sum(unused) * 1.0 / sum(pgsize) AS share FROM dbstat WHERE name = ?',
    )
    const shares = ['tokens', 'terms', 'sqlite_autoindex_tokens_1'].map(name =>
      Number(unusedOf.get(name)?.share),
    )
    database.close()
    // One in six index entries is that of a fingerprint, which lands at a random place.
    for (const share of shares) assert.ok(share < 0.2, shares.join())
  } finally {
    await vault.stop()
  }
})
