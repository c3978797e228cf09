import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { inShortRun } from '../rig/long-run.ts'
import { assertRefused, call, type Program, Site, withoutKey } from '../rig/program.ts'
import { sealedBytes, survivors } from '../store/survivors.ts'

describe('backup', () => {
  const site = new Site()
  let server: Program & { url: string }
  let keys: Record<string, string>
  before(async () => {
    server = await site.serve()
    keys = await site.json('tenant', 'create', '--name', 'X')
  })
  after(() => site.remove())
  const create = async (data: string): Promise<string> =>
    (await call(server.url, 'POST', '/tokens', keys.api_key ?? '', { type: 'token', data })).body.id
  /** Backs up into a folder of its own, where nothing else can be found. */
  const backUp = async (name: string): Promise<string> => {
    const file = join(site.path, name, 'vault.db')
    mkdirSync(dirname(file), { mode: 0o700 })
    assert.equal((await site.run(['backup', file, ...site.vault])).code, 0)
    return file
  }
  const namesLike = (start: string): string[] => readdirSync(site.path).filter(name => name.startsWith(start))

  test('while a server is running, it copies everything answered so far, but no byte of a cvc, into one private file that can be served as a vault (C35, C11.2, C11.3)', async () => {
    const ids = [await create('one'), await create('two')]
    const card = { number: '4242424242424242', expiration_month: 12, expiration_year: 2030 }
    // Their bytes have two lengths and fill several pages.
    const cards = Array.from({ length: 400 }, (_, n) => ({
      type: 'card',
      data: { ...card, cvc: String(n % 2 === 0 ? 100 + n : 1_000 + n) },
    }))
    const made = await call(server.url, 'POST', '/tokenize', keys.api_key ?? '', cards)
    const [{ id }] = made.body
    const codes = sealedBytes(site.data, 'SELECT bytes FROM transients JOIN slots USING (slot)')
    const wrapped = sealedBytes(site.data, 'SELECT bytes FROM tenant_keys JOIN slots USING (slot)')
    assert.equal(codes.length, cards.length)
    assert.equal(survivors(site.data, codes).length, codes.length, 'the search finds what is there')

    const restored = join(site.path, 'restored')
    const file = join(restored, 'vault.db')
    mkdirSync(restored, { mode: 0o700 })
    const { code, stdout, stderr } = await site.run(['backup', file, ...site.vault])
    assert.deepEqual(
      { code, stdout, stderr },
      { code: 0, stdout: `${site.data} is backed up in ${file}; the master key is not in it\n`, stderr: '' },
    )
    assert.equal(statSync(file).mode & 0o777, 0o600)
    assert.deepEqual(readdirSync(restored), ['vault.db'])
    const later = await create('three')
    assert.deepEqual(survivors(restored, codes), [])
    assert.equal(survivors(restored, wrapped).length, wrapped.length)

    const doctor = await site.run(['doctor', '--deep', '--data', restored, ...site.keys])
    assert.equal(withoutKey(doctor.stdout), `in ${restored}:\nno problems found\n`)
    const { url } = await site.serve(['--data', restored])
    const get = (from: string, token: string) =>
      call(from, 'GET', `/tokens/${token}`, keys.private_api_key ?? '')
    const statuses = (await Promise.all([...ids, later].map(token => get(url, token)))).map(
      ({ status }) => status,
    )
    assert.deepEqual(statuses, [200, 200, 404])
    assert.deepEqual((await get(server.url, id)).body.data, { ...card, cvc: '100' })
    assert.deepEqual((await get(url, id)).body.data, card)
  })

  test('what follows -- is the name of the file, even if it looks like an option (C35)', async () => {
    const { code, stdout } = await site.run(['backup', ...site.vault, '--', '--help'])
    assert.equal(code, 0)
    assert.match(stdout, /is backed up in \S+\/--help;/)
    assert.deepEqual(namesLike('--help'), ['--help'])
  })

  test('it overwrites nothing, and leaves nothing half done (C35)', async () => {
    const taken = site.file('taken.db', 'mine')
    assertRefused(
      await site.run(['backup', taken, ...site.vault]),
      2,
      /taken\.db exists and is not overwritten$/m,
    )
    const half = join(site.path, 'half.db')
    writeFileSync(`${half}.part`, '')
    assertRefused(
      await site.run(['backup', half, ...site.vault]),
      2,
      /half\.db\.part exists: wait for the backup/,
    )
    assert.ok(!existsSync(half))
    assertRefused(
      await site.run(['backup', join(site.path, 'none', 'x.db'), ...site.vault]),
      2,
      /there is no folder \S+none$/m,
    )
    assertRefused(await site.run(['backup', ...site.vault]), 2, /<new file> is missing/)
    assertRefused(
      await site.run(['backup', half]),
      2,
      /the folder of the vault is missing: set --data or STRONGROOM_DATA$/m,
    )
    assertRefused(
      await site.run(['backup', half, '--data', join(site.path, 'nothing')]),
      2,
      /nothing holds no vault/,
    )
    const unmade = join(site.path, 'unmade')
    mkdirSync(unmade)
    writeFileSync(join(unmade, 'vault.db'), '')
    assertRefused(
      await site.run(['backup', half, '--data', unmade]),
      2,
      /unmade holds no vault: strongroom migrate --data \S+ makes one$/m,
    )
    assertRefused(
      await site.run(['backup', half, '--database-url', 'postgres://u@h/d']),
      2,
      /a vault on PostgreSQL is backed up with pg_dump/,
    )
  })

  test('a name that the file system does not take, with the ending of the draft, is refused with the reason (C35)', async () => {
    for (const length of [252, 300]) {
      const name = 'x'.repeat(length)
      assertRefused(
        await site.run(['backup', join(site.path, name), ...site.vault]),
        2,
        new RegExp(`${name}\\.part cannot be written \\(ENAMETOOLONG\\)$`, 'm'),
      )
    }
  })

  test('a backup leaves a record in the log of the operator; without the keys it is made, too, and none is (L1)', async () => {
    const count = async (): Promise<number> => {
      const { data } = await site.json('logs', 'list', '--operation', 'backup', '--result', 'allowed')
      return data.length
    }
    const before = await count()
    await backUp('recorded')
    assert.equal(await count(), before + 1)
    const unkeyed = await site.run(['backup', 'unkeyed.db', '--data', site.data])
    assert.deepEqual([unkeyed.code, unkeyed.stderr], [0, ''])
    const other = ['--key-provider', 'env']
    const { code, stderr } = await site.run(['backup', 'other.db', '--data', site.data, ...other])
    assert.equal(code, 0)
    assert.match(
      stderr,
      /^strongroom backup: it is done, but left no record in the log: .*STRONGROOM_MASTER_KEY/,
    )
    assert.equal(await count(), before + 1)
  })

  test('a link that leads nowhere is not overwritten (docs/backups.md)', async () => {
    const link = join(site.path, 'link.db')
    symlinkSync('a disk that is not there', link)
    assertRefused(
      await site.run(['backup', link, ...site.vault]),
      2,
      /link\.db exists and is not overwritten$/m,
    )
    assert.equal(readlinkSync(link), 'a disk that is not there')
    assert.deepEqual(namesLike('link.db'), ['link.db'])
  })

  test('a backup holds no byte of the keys of a tenant deleted a moment ago (C31.7)', async () => {
    const { tenant_id: tenant, management_api_key: management } = await site.json(
      ...['tenant', 'create', '--name', 'Y'],
    )
    const wrapped = sealedBytes(
      site.data,
      `SELECT bytes FROM tenants JOIN tenant_keys USING (tenant) JOIN slots USING (slot) WHERE tenant_id = '${tenant}'`,
    )
    assert.equal((await call(server.url, 'DELETE', '/tenants/self', management)).status, 204)
    const file = await backUp('tenants')
    assert.ok(wrapped.length >= 3)
    assert.deepEqual(survivors(dirname(file), wrapped), [])
  })

  test('when the disk takes no more, it names the file and leaves none behind (C35)', {
    skip: spawnSync('prlimit', ['--version']).status === 0 ? false : 'prlimit is not there',
  }, async () => {
    // More than the engine keeps in memory, so that it writes to the copy and its journal before the end.
    for (let n = 0; n < 8; n++) await create('x'.repeat(1_000_000))
    const file = join(site.path, 'large.db')
    const limited = ['backup', file, ...site.vault].map(word => `'${word}'`).join(' ')
    const refused = await site.shell(`prlimit --fsize=4000000: -- strongroom ${limited}`)
    assertRefused(refused, 1, /data cannot be copied to \S+large\.db: disk I\/O error$/m)
    assert.deepEqual(namesLike('large.db'), [])
  })

  /** Loaded into the program before anything else, to cause what a test cannot cause from outside. */
  const meeting = (name: string, code: string): Record<string, string> => ({
    NODE_OPTIONS: `--import ${site.file(`${name}.mjs`, code)}`,
  })

  /** Replaces the copying step; `copy(to)` makes the copy. */
  const copying = (name: string, code: string): Record<string, string> =>
    meeting(
      name,
      `import { writeFileSync, writeSync } from 'node:fs'
       import { DatabaseSync } from 'node:sqlite'
       const { prepare } = DatabaseSync.prototype
       DatabaseSync.prototype.prepare = function (sql) {
         const statement = prepare.call(this, sql)
         const copy = to => statement.run(to)
         return sql.startsWith('VACUUM') ? { run: to => { ${code} } } : statement
       }`,
    )

  test('when the disk of the new file is full, it names that file and leaves nothing there (C35)', async () => {
    const full = `copy(to); throw Object.assign(new Error('database or disk is full'), { errcode: 13 })`
    const refused = await site.run(
      ['backup', join(site.path, 'full.db'), ...site.vault],
      copying('full', full),
    )
    assertRefused(refused, 1, /full\.db cannot be written: database or disk is full$/m)
    assert.deepEqual(namesLike('full.db'), [])
  })

  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const)
    test(`${signal} ends it at once, and no file is left behind (C35)`, {
      skip: signal !== 'SIGTERM' && inShortRun,
    }, async () => {
      const file = join(site.path, `${signal}.db`)
      const endless = copying(
        'endless',
        `copy(to)
         writeFileSync(to + '-journal', 'a journal')
         writeSync(1, 'under way\\n')
         Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)`,
      )
      const program = site.start(['backup', file, ...site.vault], endless)
      await program.line('stdout', line => line === 'under way')
      assert.deepEqual(namesLike(`${signal}.db`), [`${signal}.db.part`])
      assert.equal(statSync(`${file}.part`).mode & 0o777, 0o700)
      program.child.kill(signal)
      const { code, signal: endedBy } = await program.exited
      assert.deepEqual({ code, endedBy }, { code: null, endedBy: signal })
      assert.deepEqual(namesLike(`${signal}.db`), [])
    })

  /** What happens when the copy gets its name. */
  const namings: readonly { name: string; link: string; code: number; says: RegExp; content: RegExp }[] = [
    {
      name: 'a link that appears during the backup and leads nowhere is not overwritten',
      link: `symlinkSync('elsewhere.db', to); linkSync(from, to)`,
      code: 2,
      says: /meanwhile\.db exists and is not overwritten$/m,
      content: /^elsewhere\.db$/,
    },
    {
      name: 'a file that appears during the backup is not overwritten',
      link: `writeFileSync(to, 'mine'); return linkSync(from, to)`,
      code: 2,
      says: /meanwhile\.db exists and is not overwritten$/m,
      content: /^mine$/,
    },
    {
      name: 'a file that appears during the backup is not overwritten, even without hard links',
      link: `writeFileSync(to, 'mine'); throw Object.assign(new Error('no links'), { code: 'EPERM' })`,
      code: 2,
      says: /meanwhile\.db exists and is not overwritten$/m,
      content: /^mine$/,
    },
    {
      name: 'without hard links, the backup still succeeds',
      link: `throw Object.assign(new Error('no links'), { code: 'EPERM' })`,
      code: 0,
      says: /^$/,
      content: /^SQLite format 3/,
    },
  ]
  for (const { name, link, code, says, content } of namings)
    test(`${name} (C35)`, {
      skip: code !== 0 && inShortRun,
    }, async () => {
      const file = join(site.path, 'meanwhile.db')
      rmSync(file, { force: true })
      const met = meeting(
        'linking',
        `import fs, { linkSync, symlinkSync, writeFileSync } from 'node:fs'
         import { syncBuiltinESMExports } from 'node:module'
         const real = linkSync
         fs.linkSync = (from, to) => { ${link.replace(/\blinkSync/, 'real')} }
         syncBuiltinESMExports()`,
      )
      const result = await site.run(['backup', file, ...site.vault], met)
      assert.equal(result.code, code)
      assert.match(result.stderr, says)
      const isLink = lstatSync(file).isSymbolicLink()
      assert.match(isLink ? readlinkSync(file) : readFileSync(file, 'latin1'), content)
      assert.deepEqual(namesLike('meanwhile.db'), ['meanwhile.db'])
    })
})
