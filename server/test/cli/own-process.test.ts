import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { commandOf, commands } from '../../src/cli/commands/registry.ts'
import { inShortRun } from '../rig/long-run.ts'
import { emptyDatabase } from '../rig/postgres-databases.ts'
import { Site } from '../rig/program.ts'

/** Each command once, in an order in which all succeed. A word in capitals stands for an id that an earlier command printed. */
const lines = [
  'master-key',
  'migrate',
  'tenant create --name One',
  'tenant list',
  'tenant update TENANT --included-active 5',
  'tenant rekey TENANT',
  'app create --tenant TENANT --name Two --type management --permissions log:read',
  'app grant APP --tenant TENANT --permissions tenant:read',
  'app list --tenant TENANT',
  'key create --tenant TENANT --app APP',
  'key list --tenant TENANT --app APP',
  'key revoke KEY --tenant TENANT --app APP',
  'master-key add',
  'master-key rewrap',
  'master-key retire',
  'doctor',
  'logs list',
  'logs export --tenant TENANT',
  'logs verify',
  'logs accept-rollback SIZE',
  'backup copy.db',
  'restore copy.db --set-aside',
  'import tokens.ndjson --tenant TENANT',
  'export tokens.age --tenant TENANT --recipient age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p',
  'tenant delete TENANT --yes',
  'migrate-store',
  'completion bash',
]

/** Nothing about how these end is particular to them. */
const simple = ['tenant list', 'tenant update', 'app ', 'key ', 'master-key ', 'logs ', 'completion']

describe('every command, in a process of its own', () => {
  let site: Site
  let database: Awaited<ReturnType<typeof emptyDatabase>>
  before(async () => {
    site = new Site()
    site.file('tokens.ndjson', '{"type":"token","data":1}\n')
    database = await emptyDatabase()
  })
  after(async () => {
    await site.remove()
    await database.drop()
  })

  const ids = new Map<string, string>()
  const learn = (command: string, stdout: string): void => {
    if (command === 'tenant create') ids.set('TENANT', JSON.parse(stdout).tenant_id)
    if (command === 'app create') ids.set('APP', JSON.parse(stdout).id)
    if (command === 'logs verify') ids.set('SIZE', String(JSON.parse(stdout).checkpoint))
    if (command === 'key create') ids.set('KEY', JSON.parse(stdout).id)
  }

  for (const line of lines)
    test(`${line}: does its work and ends (C35)`, {
      skip: simple.some(name => line.startsWith(name)) && inShortRun,
    }, async () => {
      const command = commandOf(line.split(' '))
      assert.ok(command)
      const args = line.split(' ').map(word => ids.get(word) ?? word)
      if (command.name.endsWith(' create') || command.name === 'logs verify') args.push('--json')
      const isCopy = command.name === 'migrate-store'
      // Without a file, the first prints a key.
      if (command.name !== 'master-key') args.push(isCopy ? '--from' : '--data', site.data, ...site.keys)
      const { code, stdout, stderr } = await site.start(
        args,
        isCopy ? { STRONGROOM_DATABASE_URL: database.url } : {},
      ).exited
      assert.equal(code, 0, stderr)
      learn(command.name, stdout)
    })

  test('no command is missing above but those that serve, and the one that asks them (C35)', () =>
    assert.deepEqual(
      lines.map(line => commandOf(line.split(' '))?.name).sort(),
      commands.flatMap(({ name }) => (['serve', 'dev', 'status'].includes(name) ? [] : [name])).sort(),
    ))
})
