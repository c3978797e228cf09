import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { generateX25519Identity, identityToRecipient } from 'age-encryption'
import { assertRefused, call, type Program, type Result, Site } from '../rig/program.ts'

const canary = '4111111111111111'

describe('import and export, while a server is running', () => {
  const site = new Site()
  let server: Program & { url: string }
  let keys: Record<string, string>
  let other: Record<string, string>
  before(async () => {
    server = await site.serve()
    keys = await site.json('tenant', 'create', '--name', 'First')
    other = await site.json('tenant', 'create', '--name', 'Other')
  })
  after(() => site.remove())
  const import_ = (file: string, ...more: string[]): Promise<Result> =>
    site.run(['import', file, '--tenant', keys.tenant_id ?? '', ...more, ...site.vault])
  const lines = (...rows: unknown[]): string => rows.map(row => `${JSON.stringify(row)}\n`).join('')
  const read = (id: string, by = keys) => call(server.url, 'GET', `/tokens/${id}`, by.private_api_key ?? '')
  const plain = async (tenant = keys.tenant_id, name = 'First'): Promise<string> => {
    const { code, stdout, stderr } = await site.shell(
      `echo '${name}' | strongroom export - --plaintext --tenant ${tenant} ${site.vault.join(' ')}`,
    )
    assert.equal(code, 0, stderr)
    return stdout
  }

  test('good rows are in at once, and what is wrong with the others is told without any value (C2, C10, C16)', async () => {
    const file = site.file(
      'mixed.ndjson',
      `${lines(
        {
          id: 'mixed-1',
          type: 'card',
          data: { number: '4242424242424242', cvc: '737' },
          metadata: { a: 'b' },
        },
        { type: 'card', data: { number: canary.slice(0, -1) } },
        { type: 'token', data: 1, [canary]: canary },
        { type: canary, data: canary },
        { type: 'token', data: canary, mask: `{{ data | ${canary} }}` },
        { type: 'token', data: canary, expires_at: '1/1/2001' },
        { id: 'mixed-1', type: 'token', data: canary },
      )}{"type":"token","data":"${canary}\n"${canary}"\n${lines({ id: 'mixed-2', type: 'token', data: 'x' })}`,
    )
    const result = await import_(file)
    assert.equal(result.code, 3)
    assert.match(result.stdout, /^2 tokens imported, in /)
    assert.match(result.stderr, /8 rows of \S+ rejected: \S+mixed\.ndjson\.rejected says where and why/)
    const told = readFileSync(`${file}.rejected`, 'utf8')
    assert.equal(statSync(`${file}.rejected`).mode & 0o777, 0o600)
    assert.ok(!`${told}${result.stderr}${result.stdout}`.includes(canary.slice(0, 9)))
    const rejects = told
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line))
    assert.deepEqual(
      rejects.map(({ line, field }) => [line, field]),
      [
        [2, 'data.number'],
        [3, '[key 3]'],
        [4, 'type'],
        [5, 'mask'],
        [6, 'expires_at'],
        [7, 'id'],
        [8, '$'],
        [9, '$'],
      ],
    )
    assert.deepEqual((await read('mixed-1')).body.data, { number: '4242424242424242', cvc: '737' })
    assert.equal((await read('mixed-2')).body.data, 'x')
    const { stdout } = await site.run(['logs', 'export', '--tenant', keys.tenant_id ?? '', ...site.vault])
    const records = stdout
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line))
      .filter(({ operation }) => operation === 'import')
    assert.deepEqual(
      records.flatMap(({ tokens = [] }) => tokens).map(({ id, permission }) => [id, permission]),
      [
        ['mixed-1', 'token:create'],
        ['mixed-2', 'token:create'],
      ],
    )
    assert.ok(records.every(({ actor, result }) => actor.type === 'operator' && result === 'allowed'))
    assert.equal(records.at(-1).count, 2)

    const again = await import_(file, '--json')
    assert.equal(again.code, 3)
    assert.equal(JSON.parse(again.stdout).was_done, true, 'the same file is not imported twice')
    const more = lines({ id: 'mixed-3', type: 'token', data: 'y' })
    writeFileSync(file, more, { flag: 'a' })
    assertRefused(await import_(file), 2, /begun with other content.*--again/)
    assertRefused(
      await site.run(['import', file, '--tenant', other.tenant_id ?? '', ...site.vault]),
      2,
      /begun into another tenant or vault/,
    )
    assert.equal((await read('mixed-3')).status, 404)
    assert.match((await import_(file, '--again')).stdout, /^1 token imported/)
  })

  test('a file without a fault leaves nothing beside it, and may be imported into another tenant', async () => {
    const file = site.file('good.ndjson', lines({ id: 'good', type: 'token', data: 'x' }))
    const dry = JSON.parse((await import_(file, '--dry-run', '--json')).stdout)
    assert.deepEqual([dry.dry_run, dry.imported], [true, 1])
    assert.equal((await read('good')).status, 404)
    assert.equal((await import_(file)).code, 0)
    assert.deepEqual(
      readdirSync(site.path).filter(name => name.startsWith('good')),
      ['good.ndjson'],
    )
    const { code, stdout } = await site.run([
      'import',
      file,
      '--tenant',
      other.tenant_id ?? '',
      ...site.vault,
    ])
    assert.equal(code, 0, stdout)
    assert.equal((await read('good', other)).body.data, 'x')
    assert.match((await import_(file)).stdout, /^already done: an earlier run imported 1 token; /)
  })

  test('CSV is read by its mapping, standard input as a file', async () => {
    site.file(
      'map.json',
      JSON.stringify({
        type: { value: 'bank' },
        id: 'ref',
        'data.routing_number': 'routing',
        'data.account_number': 'account',
        'metadata.owner': 'owner',
      }),
    )
    const csv =
      'ref,account,routing,owner,unused\r\ncsv-1,0012,021000021,"Ada ""A"", Ltd",x\r\ncsv-2,1,021000022,,\r\n'
    const { code, stderr } = await site.shell(
      `printf '%s' '${csv}' | strongroom import - --from csv --mapping map.json --rejected in.rejected --tenant ${keys.tenant_id} ${site.vault.join(' ')}`,
    )
    assert.equal(code, 3, stderr)
    const { body } = await read('csv-1')
    assert.deepEqual(body.data, { routing_number: '021000021', account_number: '0012' })
    assert.deepEqual(body.metadata, { owner: 'Ada "A", Ltd' })
    const told = JSON.parse(readFileSync(join(site.path, 'in.rejected'), 'utf8'))
    assert.deepEqual([told.line, told.field], [3, 'data.routing_number'])
  })

  test('an archive opens with the identity or the passphrase it was sealed under, and leads to the same export', async () => {
    const identity = await generateX25519Identity()
    const identityFile = site.file('identity', `# of a test\n${identity}\n`)
    const passphraseFile = site.file('passphrase', 'a long enough passphrase\n')
    const third = (await site.json('tenant', 'create', '--name', 'Third')).tenant_id
    const fourth = (await site.json('tenant', 'create', '--name', 'Fourth')).tenant_id
    const archive = join(site.path, 'sealed.age')
    const out = await site.run([
      'export',
      archive,
      ...['--tenant', keys.tenant_id ?? ''],
      ...['--recipient', await identityToRecipient(identity)],
      ...site.vault,
    ])
    assert.equal(out.code, 0, out.stderr)
    assert.equal(statSync(archive).mode & 0o777, 0o600)
    const bytes = readFileSync(archive)
    assert.ok(bytes.toString('latin1').startsWith('age-encryption.org/v1\n'))
    assert.ok(!bytes.includes('mixed-1'))
    const into = (file: string, tenant: string, ...more: string[]) =>
      site.run(['import', file, '--tenant', tenant, ...more, ...site.vault])
    assertRefused(await into(archive, third), 2, /--identity or --passphrase-file/)
    const stranger = site.file('stranger', `${await generateX25519Identity()}\n`)
    assertRefused(await into(archive, third, '--identity', stranger), 1, /does not open/)
    const cut = site.file('cut.age', bytes.subarray(0, -20))
    assertRefused(await into(cut, third, '--identity', identityFile), 1, /cut off or changed/)
    assert.equal((await into(archive, third, '--identity', identityFile)).code, 0)
    assert.equal(await plain(third, 'Third'), await plain())

    const second = join(site.path, 'second.age')
    const sealing = ['export', second, '--tenant', third, '--passphrase-file', passphraseFile, ...site.vault]
    assert.equal((await site.run(sealing)).code, 0)
    assertRefused(await site.run(sealing), 2, /second\.age exists and is not overwritten/)
    assert.equal((await into(second, fourth, '--passphrase-file', passphraseFile)).code, 0)
    assert.equal(await plain(fourth, 'Fourth'), await plain())
  })

  test('nothing leaves in the clear unless the name of the tenant was typed', async () => {
    const refused = await site.shell(
      `echo first | strongroom export clear.ndjson --plaintext --tenant ${keys.tenant_id} ${site.vault.join(' ')}`,
    )
    assertRefused(refused, 2, /not the name of the tenant/)
    assert.ok(!existsSync(join(site.path, 'clear.ndjson')))
    const unsealed = ['export', 'x.age', '--tenant', keys.tenant_id ?? '', ...site.vault]
    assertRefused(
      await site.run(unsealed),
      2,
      /--recipient age1…, --passphrase or --passphrase-file; or --plaintext/,
    )
    assertRefused(await site.run([...unsealed, '--recipient', 'age1x']), 2, /must be public keys of age/)
    const short = site.file('short', 'secret\n')
    assertRefused(await site.run([...unsealed, '--passphrase-file', short]), 2, /at least 12 characters/)
    const open = site.file('open', 'a long enough passphrase\n', 0o644)
    assertRefused(await site.run([...unsealed, '--passphrase-file', open]), 2, /chmod 600/)
  })

  const wrong: { name: string; content: string | Uint8Array; args?: string[]; code?: 1; says: RegExp }[] = [
    { name: 'UTF-16', content: Buffer.from('\ufeff{}', 'utf16le'), says: /is UTF-16/ },
    { name: 'gzip', content: new Uint8Array([0x1f, 0x8b, 8]), says: /is compressed/ },
    { name: 'armored', content: '-----BEGIN AGE ENCRYPTED FILE-----\n', says: /armored/ },
    { name: 'no-mapping.csv', content: 'a,b\n', says: /CSV needs --mapping/ },
    {
      name: 'unknown form',
      content: '{}',
      args: ['--from', 'xml'],
      says: /--from must be one of ndjson, csv/,
    },
    { name: 'mapping for no CSV', content: '{}', args: ['--mapping', 'm'], says: /add --from csv/ },
    { name: 'identity for no archive', content: '{}', args: ['--identity', 'i'], says: /is not sealed/ },
  ]
  for (const { name, content, args = [], says } of wrong)
    test(`a file that cannot be read is refused with what to do: ${name}`, async () => {
      assertRefused(await import_(site.file(name, content), ...args), 2, says)
    })

  test('a file that is not there, or standard input without a place for rejects, is refused', async () => {
    assertRefused(await import_(join(site.path, 'none')), 2, /there is no file/)
    assertRefused(await import_(site.path), 2, /is a folder/)
    assertRefused(await import_('-'), 2, /--rejected is missing/)
  })
})
