import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { describe, test } from 'node:test'
import { inShortRun } from '../rig/long-run.ts'
import { startCluster } from '../rig/postgres-cluster.ts'
import { call, mainFile, Program, Site } from '../rig/program.ts'

const isSupported = spawnSync('prlimit', ['--version']).status === 0
/** More than a segment of PostgreSQL's log, which its writer cannot do without. */
const limitKiB = 17_000

type Keys = Readonly<Record<'base_url' | 'api_key' | 'private_api_key' | 'management_api_key', string>>

/** A vault whose storage cannot write any file beyond the limit, until it is freed. */
type Limited = { readonly keys: Keys; free(): void; end(): Promise<void> }

/** Runs as the owner of the process: other users would need a capability that containers do not have. */
const limitFiles = (pid: number, limit: string): void => {
  const { uid, gid } = statSync(`/proc/${pid}`)
  const { status, stderr } = spawnSync('prlimit', ['--pid', `${pid}`, `--fsize=${limit}:`], { uid, gid })
  assert.equal(status, 0, String(stderr))
}

const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)

const engines: Record<string, (site: Site) => Promise<Limited>> = {
  sqlite: async site => {
    const command = `ulimit -S -f ${limitKiB}; exec '${process.execPath}' '${mainFile}' dev`
    const program = new Program('/bin/bash', ['-c', command], {
      cwd: site.path,
      env: site.environment({ STRONGROOM_DATA: site.data, STRONGROOM_PORT: '0' }),
    })
    await program.line('stdout', line => line.startsWith('Strongroom answers at'))
    const keys: Keys = JSON.parse(readFileSync(`${site.data}/dev-keys.json`, 'utf8'))
    return { keys, free: () => limitFiles(program.pid, 'unlimited'), end: () => program.end() }
  },
  postgres: async site => {
    const cluster = await startCluster()
    const env = { STRONGROOM_DATABASE_URL: cluster.url }
    await site.run(['migrate', ...site.keys], env)
    const made = await site.run(['tenant', 'create', '--name', 'T', '--json', ...site.keys], env)
    // Applies to the server's processes started from now on: those that serve a connection.
    limitFiles(cluster.pid(), String(limitKiB * 1_024))
    const { url } = await site.serve([], env)
    return {
      keys: { ...JSON.parse(made.stdout), base_url: url },
      free: () => {
        for (const pid of [cluster.pid(), ...childrenOf(cluster.pid())]) limitFiles(pid, 'unlimited')
      },
      end: () => cluster.stop(),
    }
  },
}

for (const [name, start] of Object.entries(engines))
  describe(`a full disk (${name})`, { skip: isSupported ? false : 'prlimit is not there' }, () => {
    test('writes get 503, nothing is revealed without a record, health checks go on, and all succeeds again once there is room (C2.23, C36.1, L1.10, L1.11)', {
      skip: name === 'postgres' && inShortRun,
    }, async () => {
      const site = new Site()
      let storage: Limited | undefined
      try {
        storage = await start(site)
        const { base_url: url, api_key: general, private_api_key: reading } = storage.keys
        const data = 'x'.repeat(1_000_000)
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
        let revealed = 0
        const reveal = async (id: string): Promise<number> => {
          const { status, body } = await call(url, 'GET', `/tokens/${id}`, reading)
          assert.equal(body.data, status === 200 ? data : undefined)
          if (status === 200) revealed++
          else assert.equal(status, 503)
          return status
        }
        for (const id of stored) await reveal(id)

        storage.free()
        const again = await create()
        assert.equal(again.status, 201, JSON.stringify(again.body))
        // The next try to store what waits lets reveals in again, within a moment.
        const recovered = async (): Promise<boolean> => (await reveal(stored[0] ?? '')) === 200
        const end = Date.now() + 10_000
        while (!(await recovered())) assert.ok(Date.now() < end, 'reveals are refused for ever')
        for (const id of stored) assert.equal(await reveal(id), 200)
        const grown = await call(url, 'GET', '/tokens?size=1', reading)
        assert.equal(grown.body.pagination.total_items, stored.length + 1)
        const found = await call(
          url,
          'GET',
          '/logs?operation=getToken&result=allowed&size=1000',
          storage.keys.management_api_key,
        )
        assert.equal(found.body.data.length, revealed)
      } finally {
        await site.remove()
        await storage?.end()
      }
    })
  })
