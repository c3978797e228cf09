import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, truncateSync } from 'node:fs'
import { connect as tcpConnect } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, describe, test } from 'node:test'
import { inShortRun, isLong } from '../rig/long-run.ts'
import { call, mainFile, Site } from '../rig/program.ts'
import { assertAbsent } from '../rig/traces.ts'

/** Sends `GET /health` this many times on one connection. Resolves with how many were answered 200. */
const askManyTimes = (url: string, times: number): Promise<number> =>
  new Promise((resolve, reject) => {
    const socket = tcpConnect(Number(new URL(url).port), '127.0.0.1')
    // A long trace id makes a long log line.
    const request = `GET /health HTTP/1.1\r\nHost: vault\r\nSVC-TRACE-ID: ${'x'.repeat(64)}\r\n\r\n`
    let answered = 0
    let rest = ''
    socket.setEncoding('utf8').on('error', reject)
    socket.on('data', (text: string) => {
      const parts = (rest + text).split('HTTP/1.1 200 OK')
      answered += parts.length - 1
      rest = (parts.at(-1) ?? '').slice(-20)
      if (answered < times) return
      socket.destroy()
      resolve(answered)
    })
    socket.write(request.repeat(times))
  })

describe('the log when storage cannot be written', { timeout: 120_000 }, () => {
  const site = new Site()
  after(() => site.remove())

  test('a locked database is named as the reason, with workers and without, and without a stack (C2.23)', async () => {
    const servers = []
    for (const workers of isLong ? ['1', '2'] : ['2']) servers.push(await site.serve(['--workers', workers]))
    const { api_key } = await site.json('tenant', 'create', '--name', 'T')
    const database = new DatabaseSync(join(site.data, 'vault.db'), { timeout: 5_000 })
    database.exec('BEGIN IMMEDIATE')
    const statuses = await Promise.all(
      servers.map(async ({ url }) => {
        const { status } = await call(url, 'POST', '/tokens', api_key, { type: 'token', data: 'unstored' })
        return status
      }),
    )
    database.close()
    assert.deepEqual(
      statuses,
      servers.map(() => 503),
    )
    for (const server of servers) {
      const line = await server.logged('request failed')
      const { error, code, reason, status, route } = JSON.parse(line)
      assert.deepEqual(
        { error, code, reason, status, route },
        {
          error: 'StoreUnavailableError',
          code: undefined,
          reason: 'database is locked (SQLite 5)',
          status: 503,
          route: '/tokens',
        },
      )
      assertAbsent({ line }, ['stack', 'unstored'])
    }
  })
})

describe('a log that cannot be written', { timeout: 120_000 }, () => {
  const site = new Site()
  const children: ChildProcess[] = []
  after(async () => {
    for (const child of children) child.kill('SIGKILL')
    await site.remove()
  })

  /** A server whose log is read up to the line that says it listens, and no further. */
  const serveUnread = async (workers: number) => {
    const args = ['serve', '--port', '0', '--workers', String(workers), '--log-level', 'debug']
    const child = spawn(process.execPath, [mainFile, ...args, ...site.vault], {
      cwd: site.path,
      env: site.environment(),
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    children.push(child)
    let text = ''
    child.stderr.setEncoding('utf8').on('data', (part: string) => {
      text += part
    })
    while (!text.includes('"msg":"listening"')) await once(child.stderr, 'data')
    child.stderr.pause()
    const listening = text.split('\n').find(line => line.includes('"msg":"listening"')) ?? ''
    return { child, url: JSON.parse(listening).url as string, log: () => text }
  }

  test('because the disk is full stops neither answers nor the shutdown (C35.1, C36.1)', {
    skip: inShortRun,
  }, async t => {
    if (!existsSync('/dev/full')) return t.skip('this system has no /dev/full')
    const program = site.startShell('exec strongroom dev --port 0 --log-level trace 2>/dev/full')
    const line = await program.line('stdout', text => text.startsWith('Strongroom answers at '))
    const url = line.split(/[ ,]/)[3] ?? ''
    for (let n = 0; n < 20; n++) assert.equal((await call(url, 'GET', '/health', '')).status, 200)
    program.child.kill('SIGTERM')
    const { code, signal } = await program.exited
    assert.deepEqual({ code, signal }, { code: 0, signal: null })
  })

  test('because the disk is full for a while: lost lines are counted, and none that follows is joined to a half one (C35.1)', {
    skip: spawnSync('prlimit', ['--version']).status === 0 ? false : 'prlimit is not there',
  }, async () => {
    // Files may not grow beyond this, and there is room for half a line.
    const bytesMax = 10_000_000
    const log = site.file('log', '')
    truncateSync(log, bytesMax - 50)
    const program = site.startShell(
      `exec prlimit --fsize=${bytesMax}: -- strongroom dev --port 0 --log-level debug 2>>log`,
    )
    const line = await program.line('stdout', text => text.startsWith('Strongroom answers at '))
    const url = line.split(/[ ,;]/)[3] ?? ''
    const times = 5
    for (let n = 0; n < times; n++) assert.equal((await call(url, 'GET', '/health', '')).status, 200)
    assert.equal(spawnSync('prlimit', ['--pid', String(program.pid), '--fsize=unlimited:']).status, 0)
    assert.equal((await call(url, 'GET', '/health', '')).status, 200)
    program.child.kill('SIGTERM')
    assert.equal((await program.exited).code, 0)
    const [half = '', ...lines] = readFileSync(log, 'utf8')
      .slice(bytesMax - 50)
      .trimEnd()
      .split('\n')
    assert.equal(half.length, 50)
    const messages = lines.map(text => JSON.parse(text))
    const lost = messages.filter(({ msg }) => msg === 'lines of the log were lost')
    assert.equal(lost.length, 1)
    // With those about jobs.
    assert.ok(lost[0].lines >= times && lost[0].lines < times + 30, `${lost[0].lines} lines`)
    assert.ok(messages.some(({ msg }) => msg === 'draining'))
  })

  test('because its reader stalls keeps nobody waiting, and lost lines are counted (C35.1, C36.1)', async () => {
    const { child, url, log } = await serveUnread(1)
    const times = 10_000
    assert.equal(await askManyTimes(url, times), times)
    assert.equal((await call(url, 'GET', '/health', '')).status, 200)
    child.stderr.resume()
    while (!log().includes('"msg":"lines of the log were lost"')) await once(child.stderr, 'data')
    child.kill('SIGTERM')
    await once(child, 'close')
    assert.equal(child.exitCode, 0)
    const lines = log()
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line))
    const answered = lines.filter(({ msg }) => msg === 'answered').length
    const lost = lines.filter(({ msg }) => msg === 'lines of the log were lost')
    assert.equal(lost.length, 1)
    assert.ok(lost[0].lines > 0)
    // A few lines about jobs may be among the lost ones.
    const counted = answered + lost[0].lines
    assert.ok(counted > times && counted < times + 20, `${counted} lines of ${times + 1} answers`)
    // What is written is in order, including the last lines.
    const instants = lines.map(({ time }) => time)
    assert.deepEqual(
      instants,
      instants.toSorted((a, b) => a - b),
    )
    assert.ok(lines.findIndex(({ msg }) => msg === 'draining') > lines.indexOf(lost[0]))
  })

  // A worker ends as a server does that runs alone, and its primary ends after it.
  test('because its reader stalls does not keep the server and its workers from stopping (C35.1)', {
    skip: inShortRun,
  }, async () => {
    const { child, url } = await serveUnread(2)
    assert.equal(await askManyTimes(url, 3_000), 3_000)
    child.kill('SIGTERM')
    const [code, signal] = await once(child, 'exit')
    assert.deepEqual({ code, signal }, { code: 0, signal: null })
  })
})
