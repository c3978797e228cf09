import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { engines } from '../rig/engines.ts'
import { devApplications, TestVault } from '../rig/test-vault.ts'
import { assertAbsent } from '../rig/traces.ts'

for (const engine of engines)
  describe(`what storage holds (${engine.name})`, () => {
    let vault: TestVault
    let keys: Record<'general' | 'private', string>
    before(async () => {
      vault = await TestVault.start({ engine })
      keys = (await vault.tenant(devApplications)).keys
    })
    after(() => vault.stop())

    const content = async (): Promise<Record<string, Uint8Array>> =>
      Object.fromEntries(await engine.content(vault.folder.path))

    test('no key, and nothing that a caller sent except ids, can be read from storage (§1.1, C30.2)', async () => {
      const texts = {
        data: 'a value to keep',
        mask: 'a mask of mine',
        key: 'metadata-key-of-mine',
        metadata: 'metadata value of mine',
        index: 'an index of mine',
        fingerprint: 'a fingerprint of mine',
        container: 'container-of-mine',
      }
      const body = {
        type: 'token',
        data: { secret: texts.data },
        mask: { secret: texts.mask },
        metadata: { [texts.key]: texts.metadata },
        search_indexes: [`{{ data.secret | append: "${texts.index}" }}`],
        fingerprint_expression: `{{ data.secret | append: "${texts.fingerprint}" }}`,
        containers: [`/${texts.container}/`],
      }
      const made = await vault.post('/tokens', keys.general, body)
      const number = '4242424242424242'
      const replies = [
        made,
        await vault.patch(`/tokens/${made.body.id}`, keys.general, { data: { more: `${texts.data} too` } }),
        await vault.post('/tokens', keys.general, { type: 'card', data: { number, cvc: '1357' } }),
        await vault.post('/tokenize', keys.general, { [texts.key]: [texts.data, texts.metadata] }),
      ]
      assert.deepEqual(
        replies.map(({ status }) => status),
        [201, 200, 201, 200],
      )
      const secrets = [
        ...Object.values(texts),
        number,
        '"1357"',
        ...Object.values(keys),
        readFileSync(join(vault.folder.path, 'master.key'), 'utf8').split(':')[1]?.trim() ?? '',
      ]
      assertAbsent(await content(), secrets)
      await vault.store.shred()
      assertAbsent(await content(), secrets)
    })
  })
