import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { shellWord } from '../../src/domain/text/terminal.ts'
import { inShortRun, isLong } from '../rig/long-run.ts'
import { call, mainFile, Program, Site } from '../rig/program.ts'
import { assertAbsent } from '../rig/traces.ts'
import { outcome } from './flight.ts'

describe('npm, which ends on SIGTERM and tells nobody', () => {
  const site = new Site()
  after(() => site.remove())

  for (const workers of isLong ? [1, 2] : [2])
    test(`takes the server with it, which drains (workers: ${workers}) (C35.2)`, async () => {
      const line = `strongroom serve --port 0 --workers ${workers} ${site.vault.map(shellWord).join(' ')}`
      const shell = site.startShell(`${line} & wait`, { npm_lifecycle_script: 'strongroom serve' })
      const { url } = JSON.parse(await shell.logged('listening'))
      shell.child.kill('SIGKILL')
      await shell.logged('draining')
      await assert.rejects(async () => {
        for (;;) await fetch(`${url}/health`)
      })
    })
})

describe('SIGUSR1 and SIGUSR2, as log rotation sends them', { timeout: 120_000 }, () => {
  const site = new Site()
  after(() => site.remove())

  const signalled = async (program: Program, pids: readonly number[], url: string): Promise<void> => {
    for (const pid of pids) for (const signal of ['SIGUSR1', 'SIGUSR2']) process.kill(pid, signal)
    for (let n = 0; n < 5; n++) assert.equal((await call(url, 'GET', '/health', '')).status, 200)
    program.child.kill('SIGTERM')
    assert.deepEqual(await outcome(program), { code: 0, signal: null })
    assertAbsent({ stderr: program.stderr }, ['Debugger', 'inspector', 'a worker ended'])
  }

  test('open no debugger and end nothing: the primary and its workers (C35.2)', async () => {
    const server = await site.serve(['--workers', '2', '--log-level', 'debug'])
    const workers = server.stderr
      .split('\n')
      .filter(line => line.includes('"msg":"a worker starts"'))
      .map(line => JSON.parse(line).pid)
    assert.equal(workers.length, 2)
    // Not even in the moment before they listen for signals.
    for (const pid of existsSync('/proc') ? workers : [])
      assert.ok(readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes('--disable-sigusr1'))
    await signalled(server, [server.pid, ...workers], server.url)
  })

  test('open no debugger and end nothing: dev (C34.1)', {
    skip: inShortRun,
  }, async () => {
    const program = site.start(['dev', '--port', '0', '--data', join(site.path, 'dev')])
    const line = await program.line('stdout', text => text.startsWith('Strongroom answers at '))
    await signalled(program, [program.pid], line.split(/[ ,]/)[3] ?? '')
  })

  const opens = site.file('opens.mjs', `import inspector from 'node:inspector'\ninspector.open(0)\n`)
  const tells = site.file(
    'tells.mjs',
    `import inspector from 'node:inspector'\nprocess.on('exit', () => console.log(typeof inspector.url()))\n`,
  )
  const debuggers: { name: string; flags: string[]; env?: Record<string, string>; left: string }[] = [
    { name: 'opened by a signal before signals were ignored is closed', flags: [], left: 'undefined' },
    { name: 'asked for on the command line stays open', flags: ['--inspect=0'], left: 'string' },
    {
      name: 'asked for in NODE_OPTIONS stays open',
      flags: [],
      env: { NODE_OPTIONS: '--inspect=0' },
      left: 'string',
    },
  ]
  for (const { name, flags, env = {}, left } of debuggers)
    test(`a debugger ${name} (C35.2)`, async () => {
      const preloaded = left === 'undefined' ? ['--import', opens] : []
      const { code, stdout } = await new Program(
        process.execPath,
        [...flags, ...preloaded, '--import', tells, mainFile, '--version'],
        { cwd: site.path, env: site.environment(env) },
      ).exited
      assert.equal(code, 0)
      assert.equal(stdout.split('\n')[1], left)
    })
})
