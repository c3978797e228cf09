import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pace } from '../../src/domain/pace.ts'
import { KeyProviderError } from '../../src/keys/key-provider.ts'
import { checkReady } from '../../src/operations/vault/check-ready.ts'
import { StoreUnavailableError } from '../../src/store/port.ts'
import { onEveryEngine } from '../rig/every-engine.ts'

onEveryEngine('health, readiness and documentation', vault => {
  const open: readonly { path: string; type: RegExp }[] = [
    { path: '/health', type: /^application\/json/ },
    { path: '/ready', type: /^application\/json/ },
    { path: '/openapi.json', type: /^application\/json/ },
    { path: '/docs', type: /^text\/html/ },
  ]
  for (const { path, type } of open)
    test(`GET ${path} needs no key, and ignores a wrong one and any query (C36.1, C36.2, C36.3, C1.3)`, async () => {
      for (const headers of [{}, { 'svc-api-key': 'nonsense' }]) {
        const reply = await vault().send('GET', path, { headers })
        assert.equal(reply.status, 200)
        assert.match(reply.headers.get('content-type') ?? '', type)
      }
      assert.equal((await vault().send('GET', `${path}?at=1`)).status, 200)
      const head = await vault().send('HEAD', path)
      assert.deepEqual([head.status, head.text], [200, ''])
    })

  test('health and readiness answer with their status (C36.1, C36.2)', async () => {
    assert.deepEqual((await vault().send('GET', '/health')).body, { status: 'up' })
    assert.deepEqual((await vault().send('GET', '/ready')).body, { status: 'ready' })
  })

  test('without storage or the key service the vault is up but not ready, and recovers (C36.2, C2.23)', async () => {
    const { store, keyProvider } = vault().service.vault
    const broken = [
      {
        part: store,
        error: new StoreUnavailableError('disk 4242424242424242 is gone', { outage: 'the disk is full' }),
        told: '"reason":"the disk is full"',
      },
      {
        part: keyProvider,
        error: new KeyProviderError('key 4242424242424242 is gone'),
        told: '"error":"KeyProviderError"',
      },
    ]
    for (const { part, error, told } of broken) {
      const { health } = part
      part.health = async () => {
        throw error
      }
      try {
        const reply = await vault().send('GET', '/ready')
        assert.equal(reply.status, 503)
        assert.equal(reply.headers.get('retry-after'), '1')
        assert.ok(!reply.text.includes('4242'))
        const line = vault().log.findLast(text => text.includes('"level":"error"')) ?? ''
        assert.ok(line.includes(told) && !line.includes('4242'), line)
        assert.equal((await vault().send('GET', '/health')).status, 200)
      } finally {
        part.health = health
      }
      assert.equal((await vault().send('GET', '/ready')).status, 200)
    }
  })

  test('nothing of a readiness check is left behind, whatever it found (C36.2)', async () => {
    const { store, keyProvider } = vault().service.vault
    const answers = async (): Promise<void> => {}
    const fails = async (): Promise<void> => {
      throw new StoreUnavailableError('storage is gone')
    }
    const timers = (): number => process.getActiveResourcesInfo().filter(name => name === 'Timeout').length
    for (const health of [answers, fails]) {
      const parts = { store: { ...store, health }, keyProvider: { ...keyProvider, health: answers } }
      const before = timers()
      await checkReady({ ...vault().service.vault, ...parts }).catch(() => {})
      assert.equal(timers(), before)
    }
  })

  test('the vault is not ready when storage or the key service does not answer in time (C36.2)', async t => {
    const { store, keyProvider } = vault().service.vault
    for (const part of [store, keyProvider]) {
      const { health } = part
      t.mock.timers.enable({ apis: ['setTimeout'] })
      try {
        const asked = new Promise<void>(resolve => {
          part.health = () => {
            resolve()
            return new Promise(() => {})
          }
        })
        const reply = vault().send('GET', '/ready')
        await asked
        t.mock.timers.tick(pace.readyAnswerMs)
        assert.equal((await reply).status, 503)
      } finally {
        part.health = health
        t.mock.timers.reset()
      }
      assert.equal((await vault().send('GET', '/ready')).status, 200)
    }
  })
})
