import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmodSync, existsSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { invocation } from '../../src/cli/command.ts'
import { commandOf, commands } from '../../src/cli/commands/registry.ts'
import { configKey, settings, variableName } from '../../src/config/settings.ts'
import { inShortRun } from '../rig/long-run.ts'
import { emptyDatabase } from '../rig/postgres-databases.ts'
import { assertRefused, mainFile, Program, Site } from '../rig/program.ts'

const server = join(import.meta.dirname, '../..')
const manifest = JSON.parse(readFileSync(join(server, 'package.json'), 'utf8'))

describe('the command line', () => {
  const site = new Site()
  after(() => site.remove())

  const served =
    'log-level|header-prefix|cors-|idempotency-|rate-|workers|drain-|audit-|trusted-|outbound-|metrics-'
  const noAddress = new RegExp(`^(host|port|tls-|${served})`)
  const notAnchors = new RegExp(`^(host|port|tls-|limits|${served.replace('audit-', 'audit-retention-')})`)
  const unread: Readonly<Record<string, RegExp>> = {
    dev: /^(database-|key-provider|master-key|workers)/,
    serve: /^$/,
    'tenant create': new RegExp(`^(${served})`),
    'app create': noAddress,
    'key create': noAddress,
    import: noAddress,
    completion: /./,
    'master-key': /^(?!master-key-file$)/,
    backup: /^(?!(data|key-provider|master-key-file|master-key)$)/,
    doctor: new RegExp(`^(host|port|${served.replace('audit-', 'audit-retention-')})`),
    restore: notAnchors,
    status: /^(?!(data|database-url|host|port|tls-.*)$)/,
    'logs export': notAnchors,
    'logs verify': notAnchors,
    'logs accept-rollback': notAnchors,
  }
  const unreadByOthers = new RegExp(`^(host|port|tls-|limits|${served})`)

  for (const command of commands)
    test(`${command.name} --help shows a usage line, what is required, an example and the settings that it reads (C35.4)`, async () => {
      const { name, words = [], options = {}, flags = {}, requires = [], example } = command
      const { code, stdout, stderr } = await site.run([...name.split(' '), '--help'])
      assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
      assert.ok(stdout.startsWith(`Usage: strongroom ${[name, ...words].join(' ')}`))
      assert.ok(stdout.includes(command.summary))
      const [usage = '', required = ''] = [/^Usage.*$/m, /^Required:\n(?: .*\n)+/m].map(
        part => part.exec(stdout)?.[0],
      )
      for (const [option, help] of Object.entries({ ...options, ...flags })) {
        assert.match(stdout, new RegExp(`^ +--${option} .*${RegExp.escape(help)}$`, 'm'))
        for (const part of [usage, required])
          assert.equal(part.includes(`--${option}`), requires.includes(option), option)
      }
      assert.ok(stdout.includes(`\nExample:\n  strongroom ${example}\n`))
      const used = (/^Settings .*\n((?: .*\n)+)/m.exec(stdout)?.[1] ?? '').trim().split(/\s+/)
      const read = settings.filter(setting => !(unread[name] ?? unreadByOthers).test(setting.name))
      assert.deepEqual(used, [
        ...read.map(setting => (setting.isSecret ? variableName(setting.name) : `--${setting.name}`)),
        '--config',
      ])
    })

  test('the example of every command is a call that it takes (C35)', () => {
    for (const command of commands) {
      const words = command.example.split(' > ')[0]?.split(' ') ?? []
      assert.equal(commandOf(words), command)
      invocation(command, words.slice(command.name.split(' ').length), {})
    }
  })

  test('help settings explains every setting, with its flag, variable, key and default (C35)', async () => {
    const { code, stdout, stderr } = await site.run(['help', 'settings'])
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
    for (const { name, help, fallback, isSecret } of settings) {
      const names = [...(isSecret ? [] : [`--${name}`]), variableName(name), configKey(name)].join(', ')
      const told = `\n  ${names}\n      ${help}${fallback === undefined ? '' : ` (${fallback})`}\n`
      assert.ok(stdout.includes(told), name)
    }
    assert.ok(stdout.includes('--config, STRONGROOM_CONFIG\n'))
  })

  const overviews: { args: string[]; lists: (name: string) => boolean }[] = [
    { args: ['--help'], lists: () => true },
    { args: ['-h'], lists: () => true },
    { args: ['help'], lists: () => true },
    { args: ['tenant', '--help'], lists: name => name.startsWith('tenant ') },
    { args: ['tenant', '--data', 'x', '-h'], lists: name => name.startsWith('tenant ') },
    { args: ['help', 'key'], lists: name => name.startsWith('key ') },
  ]
  for (const { args, lists } of overviews)
    test(`strongroom ${args.join(' ')} lists the commands it is about (C35)`, async () => {
      const { code, stdout, stderr } = await site.run(args)
      assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
      for (const { name, summary } of commands)
        assert.equal(new RegExp(`^  ${name} +${RegExp.escape(summary)}$`, 'm').test(stdout), lists(name))
    })

  test('strongroom help tenant create prints what strongroom tenant create --help prints (C35)', async () => {
    const [one, other] = await Promise.all([
      site.run(['help', 'tenant', 'create']),
      site.run(['tenant', 'create', '--help']),
    ])
    assert.deepEqual(one, other)
  })

  test('--version prints the release (C35)', async () => {
    for (const flag of ['--version', '-v']) {
      const { code, stdout, stderr } = await site.run([flag])
      assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: `${manifest.version}\n`, stderr: '' })
    }
  })

  test('a call without arguments prints the overview on standard error and exits with code 2 (C35)', async () => {
    const { code, stdout, stderr } = await site.run([])
    assert.deepEqual({ code, stdout }, { code: 2, stdout: '' })
    for (const { name } of commands) assert.ok(stderr.includes(name))
  })

  const secret = 'strongroom-master-key-1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA='
  const wrong: { args: string[]; says: RegExp; absent?: string }[] = [
    { args: ['sevre'], says: /there is no such command \(did you mean serve\?\); see strongroom help$/m },
    { args: ['tenant', 'craete'], says: /did you mean tenant create\?/ },
    { args: ['tenan', 'create'], says: /did you mean tenant create\?/ },
    { args: ['tenat'], says: /did you mean tenant\?/ },
    {
      args: ['tenant'],
      says: /which one: tenant create, tenant list, tenant update, tenant rekey, tenant delete\?/,
    },
    { args: ['key', 'nonsense'], says: /which one: key create, key list, key revoke\?/ },
    {
      args: ['--hlp'],
      says: /the command is missing before --hlp \(did you mean --help\?\); see strongroom help$/m,
    },
    { args: ['--port', '1'], says: /the command is missing before --port; see strongroom help$/m },
    { args: ['nonsense'], says: /there is no such command; see strongroom help$/m },
    { args: ['help', 'nonsense'], says: /there is no such command; see strongroom help$/m },
    { args: ['help', 'sevre'], says: /did you mean serve\?/ },
    { args: ['tenat', '--help'], says: /did you mean tenant\?/ },
    { args: ['tenant', 'craete', '--help'], says: /did you mean tenant create\?/ },
    {
      args: ['serve', '--prot', '1'],
      says: /there is no option --prot \(did you mean --port\?\); see strongroom serve --help$/m,
    },
    { args: ['migrate', '--name', 'x'], says: /there is no option --name/ },
    { args: ['serve', '-p', '1'], says: /there is no option -p/ },
    { args: ['serve', '--data'], says: /--data needs a value/ },
    { args: ['tenant', 'create', '--name', '--json'], says: /--name needs a value/ },
    { args: ['tenant', 'create', '--json=yes', '--name', 'x'], says: /--json takes no value/ },
    { args: ['serve', '--data', ''], says: /--data is empty/ },
    { args: ['serve', 'now'], says: /too many arguments/ },
    { args: ['tenant', 'delete', '--yes'], says: /<tenant id> is missing/ },
    { args: ['app', 'list'], says: /--tenant is missing: strongroom tenant list shows the ids$/m },
    { args: ['key', 'revoke', 'a', 'b'], says: /too many arguments/ },
    { args: ['backup', ''], says: /<new file> is empty; see strongroom backup --help$/m },
    { args: ['serve', `--master-key=${secret}`], says: /set STRONGROOM_MASTER_KEY/, absent: secret },
    { args: ['serve', '--master-key', secret], says: /set STRONGROOM_MASTER_KEY/, absent: secret },
    { args: ['serve', '--port', 'eighty'], says: /--port must be a number from 0 to 65535/ },
    { args: ['serve', '--port=-1'], says: /--port must be a number from 0 to 65535/ },
    { args: ['serve', '--config', '/nowhere.json'], says: /the config file \/nowhere\.json/ },
  ]
  for (const { args, says, absent } of wrong)
    test(`strongroom ${args.join(' ').slice(0, 40)} is refused with one line and exit code 2 (C35)`, async () => {
      const result = await site.runRefused(args)
      assertRefused(result, 2, says)
      if (absent !== undefined) assert.ok(!result.stderr.includes(absent))
    })

  test('a message that spans lines, as a path may, is told in one (C35)', async () => {
    const result = await site.runRefused(['serve', '--config', '/no\nwhere.json'])
    assertRefused(result, 2, /the config file \/no where\.json/)
  })

  const open: { name: string; content: string; command: string }[] = [
    { name: 'a master key', content: secret, command: 'master-key add --master-key-file' },
    {
      name: 'a config file with a master key',
      content: `{"masterKey":"${secret}"}`,
      command: 'migrate --config',
    },
    {
      name: 'a config file with a password',
      content: '{"databaseUrl":"postgres://u:secret@h/d"}',
      command: 'migrate --config',
    },
    {
      name: 'a password of a database',
      content: 'secret',
      command: 'migrate --database-url postgres://u@h/d --database-password-file',
    },
  ]
  for (const { name, content, command } of open)
    test(`${name} that is open to others is refused with a chmod to paste, even if the file has an odd name (C35)`, async () => {
      const path = site.file("the secret's $HOME", content)
      chmodSync(path, 0o644)
      const refused = await site.run([...command.split(' '), path])
      const [, chmod = ''] = /is open to others: run (.+)$/m.exec(refused.stderr) ?? []
      assert.deepEqual(await site.shell(chmod), { code: 0, signal: null, stdout: '', stderr: '' })
      assert.equal(statSync(path).mode & 0o777, 0o600)
    })

  test('in the real program, flags override variables and variables override the file (C35.4)', async () => {
    const [a, b, c] = ['a', 'b', 'c'].map(name => join(site.path, `data-${name}`))
    const config = site.file('settings.json', JSON.stringify({ data: a }))
    const env = { STRONGROOM_CONFIG: config }
    assert.equal((await site.run(['migrate'], env)).code, 0)
    assert.equal((await site.run(['migrate'], { ...env, STRONGROOM_DATA: b })).code, 0)
    assert.equal((await site.run(['migrate', '--data', `${c}`], { ...env, STRONGROOM_DATA: b })).code, 0)
    for (const folder of [a, b, c]) assert.ok(existsSync(join(`${folder}`, 'vault.db')))
  })

  const misspelt = { STRONGROOM_WORKRES: '7' }
  const warning =
    'strongroom: ignored, because there is no such setting: STRONGROOM_WORKRES (did you mean STRONGROOM_WORKERS?)\n'

  test('a misspelt variable causes a one-line warning, and the command does its work (C35.4)', async () => {
    const { code, stderr } = await site.run(['migrate', '--data', join(site.path, 'warned')], misspelt)
    assert.deepEqual({ code, stderr }, { code: 0, stderr: warning })
  })

  test('the warning about a misspelt variable precedes the error it leads to, and no worker repeats it (C35.4)', {
    skip: inShortRun,
  }, async () => {
    const { code, stderr } = await site.runRefused(['serve'], misspelt)
    assert.equal(code, 2)
    assert.ok(stderr.startsWith(`${warning}strongroom serve: `))
    const server = await site.serve(['--workers', '2'], misspelt)
    assert.equal(server.stderr.split(warning).length, 2)
  })

  /** Asks for a password as PostgreSQL does by default (SCRAM), and goes no further. */
  const askForPassword = (socket: Socket): void => {
    const message = (kind: number, content: string): Buffer => {
      const bytes = Buffer.from(`R\0\0\0\0\0\0\0${String.fromCharCode(kind)}${content}`, 'latin1')
      bytes.writeUInt32BE(bytes.length - 1, 1)
      return bytes
    }
    socket.on('error', () => {})
    socket.once('data', () => {
      socket.write(message(10, 'SCRAM-SHA-256\0\0'))
      socket.once('data', () => socket.write(message(11, 'r=x,s=eA==,i=4096')))
    })
  }

  test('a database that asks for a password nobody set is reported with the settings that provide one (C35)', async t => {
    const scram = createServer(askForPassword).listen(0, '127.0.0.1')
    t.after(() => scram.close())
    await once(scram, 'listening')
    const { port } = scram.address() as { port: number }
    const database = await emptyDatabase()
    t.after(() => database.drop())
    const plain = new URL(database.url)
    plain.password = ''
    for (const url of [`postgres://u@127.0.0.1:${port}/d`, plain.href])
      assertRefused(
        await site.run(['migrate'], { STRONGROOM_DATABASE_URL: url }),
        1,
        /asks for a password: set STRONGROOM_DATABASE_PASSWORD_FILE, or STRONGROOM_DATABASE_URL with a password/,
      )
  })

  test('a database that cannot be used is reported with what to correct (C35)', async t => {
    const database = await emptyDatabase()
    t.after(() => database.drop())
    const changed = (part: Partial<Record<'pathname' | 'username' | 'port', string>>): string =>
      Object.assign(new URL(database.url), part).href
    for (const [url, says] of [
      [
        changed({ pathname: '/no_such_database' }),
        /database "no_such_database" does not exist: make it with createdb, or correct the name/,
      ],
      [changed({ username: 'no_such_user' }), /: correct the user in --database-url or/],
      [
        changed({ port: '1' }),
        /ECONNREFUSED 127\.0\.0\.1:1: start the database server, or correct host and port/,
      ],
    ] as const)
      assertRefused(await site.run(['migrate'], { STRONGROOM_DATABASE_URL: url }), 1, says)
  })

  for (const [script, program, packages] of [
    ['strongroom "tenant" "list"', 'npx --no -- strongroom'],
    ["'strongroom'", "npx -p node@26 -p './my vault.tgz' -- strongroom", 'node@26\n\n./my vault.tgz'],
    ['node --max-semi-space-size=16 server/bin/strongroom.js dev', 'npx --no -- strongroom'],
    ['node /home/me/strongroom/server/other.js', 'strongroom'],
    [undefined, 'strongroom'],
  ] as const)
    test(`called through ${script ?? 'the PATH'}${packages === undefined ? '' : ' of packages'}, it names commands that can be pasted, with their settings (C35)`, async () => {
      const folder = join(site.path, 'a folder')
      const environment = { npm_lifecycle_script: script, npm_config_package: packages }
      const { stderr } = await site.run(
        ['tenant', 'list', `--data=${folder}`, '--key-provider', 'env'],
        environment,
      )
      const command = `${program} migrate --data '${folder}' --key-provider env`
      assert.equal(stderr, `strongroom tenant list: ${folder} holds no vault: ${command} makes one\n`)
      const { stdout } = await site.run(['doctor', '--data', folder], environment)
      assert.equal(stdout.split('\n')[2], `  ${program} migrate --data '${folder}'`)
    })

  test('no message repeats a password that was refused on the command line (C35)', async () => {
    const { stderr } = await site.run(['tenant', 'list', '--database-url', 'postgres://u:secret@h/d'])
    assert.doesNotMatch(stderr, /secret/)
  })

  test('a reader that stops reading, a full disk and an empty environment do not crash it (C35)', async () => {
    const closed = site.start(['--help'])
    closed.child.stdout?.destroy()
    const { code, stderr } = await closed.exited
    assert.deepEqual({ code, stderr }, { code: 1, stderr: '' })
    if (existsSync('/dev/full')) {
      const full = await site.shell('strongroom --help > /dev/full')
      assert.deepEqual(
        [full.code, full.stderr],
        [1, 'strongroom: standard output cannot be written: ENOSPC\n'],
      )
    }
    const mute = site.start(['nonsense'])
    mute.child.stderr?.destroy()
    assert.equal((await mute.exited).code, 2)
    const bare = new Program(process.execPath, [mainFile, 'migrate', '--data', join(site.path, 'bare')], {
      cwd: '/',
      env: {},
    })
    assert.equal((await bare.exited).code, 0)
  })
})

describe('the strongroom that npm puts on PATH', () => {
  const site = new Site()
  after(() => site.remove())
  const bin = join(server, manifest.bin.strongroom)

  test('is an executable file, also through a link like the one npm makes (C35.3)', async () => {
    assert.ok(statSync(bin).mode & 0o100)
    assert.match(readFileSync(bin, 'utf8'), /^#!\/usr\/bin\/env -S node --/)
    const link = join(site.path, 'strongroom')
    symlinkSync(bin, link)
    const PATH = `${join(process.execPath, '..')}:${process.env.PATH}`
    const { code, stdout, stderr } = await new Program(link, ['--version'], {
      cwd: site.path,
      env: site.environment({ PATH }),
    }).exited
    assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: `${manifest.version}\n`, stderr: '' })
  })

  test('says in one line that Node is too old (C35)', async () => {
    const pretend = site.file(
      'old.mjs',
      `Object.defineProperty(process.versions, 'node', { value: '20.19.0' })\n`,
    )
    const program = new Program(process.execPath, ['--import', pretend, bin, 'serve'], {
      cwd: site.path,
      env: site.environment(),
    })
    assertRefused(await program.exited, 2, /Node 26 or newer is needed/)
  })
})
