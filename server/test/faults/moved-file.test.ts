import assert from 'node:assert/strict'
import { copyFileSync, existsSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { onSqliteAlone } from '../rig/every-engine.ts'
import { owner } from '../rig/test-vault.ts'

onSqliteAlone('a vault whose file is moved', 'other engines have no file of ours', vault => {
  const names = ['vault.db', 'vault.db-wal', 'vault.db-shm']
  const pathOf = (name: string): string => join(vault().folder.path, name)

  for (const [how, replace] of Object.entries({
    away: () => {},
    'away, with a copy in its place': () => copyFileSync(pathOf('vault.db.aside'), pathOf('vault.db')),
  }))
    test(`nothing is answered that went into a file that was moved ${how} (C2.23, C36.2)`, async () => {
      const { keys } = await vault().tenant({ owner })
      const create = (data: string) => vault().post('/tokens', keys.owner, { type: 'token', data })
      const made = await create('before')
      assert.equal(made.status, 201)
      for (const name of names)
        if (existsSync(pathOf(name))) renameSync(pathOf(name), pathOf(`${name}.aside`))
      replace()
      assert.equal((await create('lost')).status, 503)
      assert.equal((await vault().delete(`/tokens/${made.body.id}`, keys.owner)).status, 503)
      assert.equal((await vault().send('GET', '/ready')).status, 503)
      assert.ok(vault().log.some(line => line.includes('the file of the vault was moved or replaced')))

      for (const name of names) {
        rmSync(pathOf(name), { force: true })
        if (existsSync(pathOf(`${name}.aside`))) renameSync(pathOf(`${name}.aside`), pathOf(name))
      }
      assert.equal((await vault().send('GET', '/ready')).status, 200)
      assert.equal((await create('after')).status, 201)
      const { body } = await vault().get('/tokens', keys.owner)
      assert.deepEqual(body.data.map(({ data }: { data: string }) => data).sort(), ['after', 'before'])
    })
})
