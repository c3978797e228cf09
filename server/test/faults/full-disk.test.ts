import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { describe, test } from 'node:test'
import { call, mainFile, Program, Site } from '../cli/program.ts'

const isSupported = spawnSync('prlimit', ['--version']).status === 0
const limitBytes = 3_000_000

describe('a disk that is full (sqlite)', { skip: isSupported ? false : 'prlimit is not there' }, () => {
  test('C2.23 C36.1 writes get 503, reads and health go on, and room is all that it needs', async () => {
    const site = new Site()
    const { keys, program } = await startLimited(site)
    try {
      const { base_url: url, api_key: general, private_api_key: reading } = keys
      const data = 'x'.repeat(100_000)
      const create = () => call(url, 'POST', '/tokens', general, { type: 'token', data })
      const stored: string[] = []
      let refused = await create()
      for (let n = 0; refused.status === 201 && n < 100; n++) {
        stored.push(refused.body.id)
        refused = await create()
      }
      assert.equal(refused.status, 503, JSON.stringify(refused.body))
      assert.ok(stored.length > 0)
      for (let n = 0; n < 5; n++) assert.equal((await create()).status, 503)
      assert.equal((await fetch(`${url}/health`)).status, 200)
      for (const id of stored)
        assert.equal((await call(url, 'GET', `/tokens/${id}`, reading)).body.data, data)
      const listed = await call(url, 'GET', '/tokens?size=1', reading)
      assert.equal(listed.body.pagination.total_items, stored.length)

      const freed = spawnSync('prlimit', ['--pid', String(program.pid), '--fsize=unlimited'])
      assert.equal(freed.status, 0)
      const again = await create()
      assert.equal(again.status, 201, JSON.stringify(again.body))
      const grown = await call(url, 'GET', '/tokens?size=1', reading)
      assert.equal(grown.body.pagination.total_items, stored.length + 1)
    } finally {
      await program.end()
      await site.remove()
    }
  })

  const startLimited = async (site: Site) => {
    const command = `ulimit -S -f ${limitBytes / 1_000}; exec '${process.execPath}' '${mainFile}' dev`
    const program = new Program('/bin/bash', ['-c', command], {
      cwd: site.path,
      env: site.environment({ STRONGROOM_DATA: site.data, STRONGROOM_PORT: '0' }),
    })
    await program.line('stdout', line => line.startsWith('Strongroom answers at'))
    const { default: keys } = await import(`${site.data}/dev-keys.json`, { with: { type: 'json' } })
    return { program, keys }
  }
})
