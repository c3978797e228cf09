import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, renameSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, type TestContext, test } from 'node:test'
import { connect as tlsConnect } from 'node:tls'
import { askEveryMs, startMaxMs } from '../../src/cli/workers/signs-of-life.ts'
import { workerVariable } from '../../src/config/settings.ts'
import { createMasterKeyFile } from '../../src/keys/file/create-master-key-file.ts'
import { certificate } from '../rig/certificates.ts'
import { inShortRun, isLong } from '../rig/long-run.ts'
import { assertRefused, type Program, Site } from '../rig/program.ts'
import { Flight, outcome, refusesConnections } from './flight.ts'
import { freshCall } from './fresh-call.ts'
import {
  askBusyWorkerWithRevokedKey,
  type Contender,
  connection,
  connectionsToAll,
  newest,
  pidsOf,
} from './worker-connections.ts'

const body = JSON.stringify({ type: 'token', data: 'in flight' })
const three = ['--workers', '3', '--log-level', 'debug']
const two = ['--workers', '2', '--log-level', 'debug']

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** No other process can write until the returned function is called. */
const holdStorage = (site: Site): (() => void) => {
  const database = new DatabaseSync(join(site.data, 'vault.db'), { timeout: 5_000 })
  database.exec('BEGIN IMMEDIATE')
  return () => database.close()
}

describe('serve with workers', { timeout: 120_000 }, () => {
  const site = new Site()
  let server: Program & { url: string }
  let apiKey: string
  before(async () => {
    server = await site.serve(three)
    apiKey = (await site.json('tenant', 'create', '--name', 'T')).api_key
  })
  after(() => site.remove())
  const health = async (): Promise<number> => (await freshCall(server.url, 'GET', '/health', '')).status

  test('it says once that it listens, and every worker answers (C35.1, C36.1)', async () => {
    const connections = await connectionsToAll(server, [1, 2, 3])
    for (const { flight } of connections) flight.socket.destroy()
    assert.equal(server.stderr.split('"msg":"listening"').length, 2)
    assert.match(server.stderr, /"workers":3,"msg":"listening"/)
  })

  test('connections that come at once are spread over all workers (C35.1)', async () => {
    const all = await Promise.all(Array.from({ length: 60 }, () => connection(server)))
    for (const number of [1, 2, 3]) {
      const taken = all.filter(({ worker }) => worker === number).length
      // Of 60, a worker gets so few by chance three times in a million runs.
      assert.ok(taken >= 5, `worker ${number} took ${taken}`)
    }
    for (const { flight } of all) flight.socket.destroy()
  })

  test('a port that workers share is taken, for a server with workers and for one without (C35.1)', async () => {
    const { port } = new URL(server.url)
    for (const workers of isLong ? ['1', '2'] : ['2'])
      assertRefused(
        await site.run(['serve', '--port', port, '--workers', workers, ...site.vault]),
        1,
        /port \d+ of 127\.0\.0\.1 is taken/,
      )
  })

  test('a worker that was busy while a key was revoked refuses it from then on (C27.2, C29.4)', async () => {
    const { management_api_key } = await site.json('tenant', 'create', '--name', 'R')
    assert.match(await askBusyWorkerWithRevokedKey(server, management_api_key), /^HTTP\/1.1 401 /)
  })

  test('a killed worker loses only its own connections and is replaced (C35.1)', async () => {
    const connections = await connectionsToAll(server, [1, 2, 3])
    for (const { flight } of connections) await flight.beginCreate(apiKey, body.length)
    const before = newest(server, 2)
    process.kill(before, 'SIGKILL')
    await server.logged('a worker ended and is replaced')
    for (const { flight, worker } of connections) {
      if (worker === 2) await flight.closed
      else {
        flight.socket.write(body)
        await flight.received('HTTP/1.1 201 Created')
        flight.socket.destroy()
      }
    }
    await server.line('stderr', line => line.includes('"worker":2,"msg":"ready"'), 2)
    assert.notEqual(newest(server, 2), before)
    for (let n = 0; n < 6; n++) assert.equal(await health(), 200)
  })

  test('an idempotency key in flight is known to all workers, and dies with its worker (C33.3, C33.4, C33.6)', async () => {
    const connections = await connectionsToAll(server, [1, 2, 3])
    const [one, two, other] = connections as [Contender, Contender, Contender]
    const send = ({ flight }: Contender, key: string): void => {
      flight.text = ''
      flight.socket.write(
        `POST /tokens HTTP/1.1\r\nHost: vault\r\nSVC-API-KEY: ${apiKey}\r\nSVC-IDEMPOTENCY-KEY: ${key}\r\n` +
          `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      )
    }
    /** Two workers get the same request. Storage is held, so the first stays in flight and the other is refused. */
    const race = async (key: string): Promise<{ winner: Contender; loser: Contender }> => {
      for (const contender of [one, two]) send(contender, key)
      const refused = (contender: Contender) =>
        contender.flight.received('HTTP/1.1 409').then(() => contender)
      const loser = await Promise.race([refused(one), refused(two)])
      const winner = loser === one ? two : one
      assert.equal(winner.flight.text, '')
      return { winner, loser }
    }

    let letGo = holdStorage(site)
    const { winner, loser } = await race('in-flight')
    letGo()
    await winner.flight.received('HTTP/1.1 201 Created')
    send(loser, 'in-flight')
    await loser.flight.received('HTTP/1.1 201 Created')
    await loser.flight.received('idempotent-replayed: true')

    letGo = holdStorage(site)
    const { worker } = (await race('dies')).winner
    const starts = pidsOf(server, worker).length
    process.kill(newest(server, worker), 'SIGKILL')
    await server.line('stderr', line => line.includes(`"worker":${worker},"msg":"ready"`), starts + 1)
    letGo()
    // What the dead worker sent to the writer may still be stored, and then wins the commit.
    send(other, 'dies')
    await other.flight.received('HTTP/1.1 ')
    if (other.flight.text.includes(' 409 ')) send(other, 'dies')
    await other.flight.received('HTTP/1.1 201 Created')
    for (const { flight } of connections) flight.socket.destroy()
  })

  test('when the whole group is signalled, it drains once and the exit code is 0 (C35.1)', async () => {
    const flight = await Flight.ofCreate(server.url, apiKey, body.length)
    for (const number of [1, 2, 3]) process.kill(newest(server, number), 'SIGINT')
    server.child.kill('SIGINT')
    await server.logged('draining')
    await refusesConnections(server.url)
    flight.socket.write(body)
    await flight.received('HTTP/1.1 201 Created')
    await flight.closed
    assert.deepEqual(await outcome(server), { code: 0, signal: null })
    for (const number of [1, 2, 3]) assert.ok(!isAlive(newest(server, number)))
  })
})

describe('serve with workers, told to end at once', { timeout: 120_000 }, () => {
  const site = new Site()
  let apiKey: string
  before(async () => {
    await site.run(['migrate', ...site.vault])
    apiKey = (await site.json('tenant', 'create', '--name', 'T')).api_key
  })
  after(() => site.remove())

  for (const signals of [['SIGINT', 'SIGTERM'], ['SIGKILL']] as const)
    test(`on ${signals.join(' and ')}, it ends and leaves no worker behind (C35.1)`, {
      skip: signals.length > 1 && inShortRun,
    }, async () => {
      const server = await site.serve([...two, '--drain-timeout', '3600'])
      const flight = await Flight.ofCreate(server.url, apiKey, body.length)
      for (const [index, signal] of signals.entries()) {
        if (index > 0) await server.logged('draining')
        server.child.kill(signal)
      }
      // Its output stays open as long as one of the workers lives.
      assert.deepEqual(await outcome(server), { code: null, signal: signals.at(-1) })
      await flight.closed
      await refusesConnections(server.url)
    })

  test('on SIGTERM before any worker answers, it ends, whatever the workers are waiting for (C35.1)', {
    skip: inShortRun,
  }, async () => {
    const silent = createServer().listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port } = silent.address() as { port: number }
    const args = ['serve', '--port', '0', ...two, ...site.keys]
    const server = site.start(args, { STRONGROOM_DATABASE_URL: `postgres://nobody@127.0.0.1:${port}/none` })
    const [socket] = await once(silent, 'connection')
    server.child.kill('SIGTERM')
    assert.deepEqual(await outcome(server), { code: 0, signal: null })
    socket.destroy()
    silent.close()
  })

  test('once it stops, no worker is started, even if one was about to be replaced (C35.1)', {
    skip: inShortRun,
  }, async () => {
    const server = await site.serve(two)
    // The first death costs no wait, the second does.
    process.kill(newest(server, 2), 'SIGKILL')
    await server.line('stderr', line => line.includes('"worker":2,"msg":"ready"'), 2)
    process.kill(newest(server, 2), 'SIGKILL')
    await server.logged('a worker ended and is replaced', 2)
    server.child.kill('SIGTERM')
    assert.deepEqual(await outcome(server), { code: 0, signal: null })
    const fromThenOn = server.stderr.slice(server.stderr.indexOf('"msg":"draining"'))
    assert.ok(!fromThenOn.includes('"msg":"a worker starts"'))
  })

  test('workers that cannot start again end the server with an error (C35.1)', {
    skip: inShortRun,
  }, async () => {
    const server = await site.serve(two)
    renameSync(site.masterKeyFile, `${site.masterKeyFile}.away`)
    for (const number of [1, 2]) process.kill(newest(server, number), 'SIGKILL')
    assert.deepEqual(await outcome(server), { code: 1, signal: null })
    renameSync(`${site.masterKeyFile}.away`, site.masterKeyFile)
    await server.logged('giving up: no worker gets ready')
    assert.match(server.stderr, /^strongroom serve: the master key file \S+ does not exist/m)
    assert.ok(pidsOf(server, 1).length + pidsOf(server, 2).length <= 2 + 6)
  })
})

describe('serve with workers, of which one is replaced', { timeout: 120_000 }, () => {
  const site = new Site()
  after(() => site.remove())
  const answersAgain = (server: Program): Promise<string> =>
    server.line('stderr', line => line.includes('"worker":2,"msg":"ready"'), 2)

  test('it serves the same vault with the same settings, whatever the config file says by then (C35.4)', {
    skip: inShortRun,
    timeout: 40_000,
  }, async () => {
    const other = join(site.path, 'other')
    const configure = (settings: object): string => site.file('conf.json', JSON.stringify(settings))
    const config = configure({ data: site.data, limits: { pageSizeDefault: 7, pageSizeMax: 7 } })
    const server = site.start(['serve', '--config', config, '--port', '0', ...two, ...site.keys])
    const { url } = JSON.parse(await server.logged('listening'))
    const { private_api_key } = await site.json('tenant', 'create', '--name', 'T')

    configure({ data: other, logLevel: 'silent' })
    process.kill(newest(server, 2), 'SIGKILL')
    await answersAgain(server)
    assert.ok(!existsSync(other))
    for (const { flight } of await connectionsToAll(Object.assign(server, { url }), [1, 2])) {
      // It knows the key, and the limit: another vault would answer 401, the default limit 200.
      flight.socket.write(
        `GET /tokens?size=8 HTTP/1.1\r\nHost: vault\r\nSVC-API-KEY: ${private_api_key}\r\n\r\n`,
      )
      await flight.received('HTTP/1.1 400')
      flight.socket.destroy()
    }
    await server.end()
  })

  test('it makes no vault where the others have theirs (C35.1)', {
    skip: inShortRun,
    timeout: 40_000,
  }, async () => {
    const server = await site.serve(two)
    renameSync(site.data, `${site.data}.away`)
    process.kill(newest(server, 2), 'SIGKILL')
    const { code } = JSON.parse(await server.logged('a worker ended and is replaced', 2))
    assert.equal(code, 1)
    assert.match(server.stderr, /^strongroom serve: \S+ holds no vault any more/m)
    assert.ok(!existsSync(site.data))
    renameSync(`${site.data}.away`, site.data)
    await answersAgain(server)
    await server.end()
  })
})

describe('serve with workers of which one fails', { timeout: 120_000 }, () => {
  const site = new Site()
  after(() => site.remove())
  /** Loaded before the program, in every process and thread of it. */
  const meeting = (name: string, code: string): Record<string, string> => ({
    NODE_OPTIONS: `--import ${site.file(`${name}.mjs`, code)}`,
  })

  test('one that cannot start is tried again while the first answers (C35.1)', {
    skip: inShortRun,
  }, async () => {
    const failsOnce = meeting(
      'fails-once',
      `import { existsSync, writeFileSync } from 'node:fs'
       const { number } = JSON.parse(process.env.${workerVariable} ?? '{}')
       if (number === 2 && !existsSync('has-failed')) {
         writeFileSync('has-failed', '')
         process.exit(1)
       }`,
    )
    const server = await site.serve(two, failsOnce)
    const { worker, code } = JSON.parse(await server.logged('a worker ended and is replaced'))
    assert.deepEqual({ worker, code }, { worker: 2, code: 1 })
    assert.deepEqual([pidsOf(server, 1).length, pidsOf(server, 2).length], [1, 2])
    server.child.kill('SIGTERM')
    assert.deepEqual(await outcome(server), { code: 0, signal: null })
  })

  test('one whose process the system does not start is tried again while the first answers (C35.1)', {
    skip: inShortRun,
  }, async () => {
    const refusesOnce = meeting(
      'refuses-once',
      `import { ChildProcess } from 'node:child_process'
       const { spawn } = ChildProcess.prototype
       let spawned = 0
       ChildProcess.prototype.spawn = function (options) {
         if (++spawned === 2) throw Object.assign(new Error('spawn ENOMEM'), { code: 'ENOMEM' })
         return spawn.call(this, options)
       }`,
    )
    const server = await site.serve(two, refusesOnce)
    const { worker, reason } = JSON.parse(await server.logged('a worker cannot be started'))
    assert.deepEqual({ worker, reason }, { worker: 2, reason: 'ENOMEM' })
    await server.logged('a worker ended and is replaced')
    server.child.kill('SIGTERM')
    assert.deepEqual(await outcome(server), { code: 0, signal: null })
  })

  test('workers that fail before they serve anything end the server with an error (C35.1)', {
    skip: inShortRun,
    timeout: 40_000,
  }, async () => {
    const cannotLoad = meeting(
      'cannot-load',
      `import { existsSync } from 'node:fs'
       import { registerHooks } from 'node:module'
       registerHooks({
         load(url, context, next) {
           if (url.endsWith('/commands/serve.ts') && existsSync('broken')) throw new Error('cannot be loaded')
           return next(url, context)
         },
       })`,
    )
    const server = await site.serve(two, cannotLoad)
    site.file('broken', '')
    for (const number of [1, 2]) process.kill(newest(server, number), 'SIGKILL')
    assert.deepEqual(await outcome(server), { code: 1, signal: null })
    await server.logged('giving up: no worker gets ready')
    // Each says so once, as a server without workers would.
    const starts = pidsOf(server, 1).length + pidsOf(server, 2).length - 2
    assert.equal(server.stderr.match(/^strongroom serve: cannot be loaded$/gm)?.length, starts)
  })

  test('one that does not get ready in time is ended and tried again (C35.1)', {
    skip: inShortRun,
    timeout: 40_000,
  }, async () => {
    const lateOnce = meeting(
      'late-once',
      `import { existsSync, writeFileSync } from 'node:fs'
       const { number } = JSON.parse(process.env.${workerVariable} ?? '{}')
       if (number === 2 && !existsSync('time-is-up')) await new Promise(() => {})
       // In the primary, the time of that worker is up at once, and that of others is not.
       const { setTimeout } = globalThis
       let starts = 0
       const end = (work) => () => {
         writeFileSync('time-is-up', '')
         work()
       }
       globalThis.setTimeout = Object.assign(
         (work, ms, ...more) =>
           ms === ${startMaxMs} && ++starts === 1 ? setTimeout(end(work), 0) : setTimeout(work, ms, ...more),
         setTimeout,
       )`,
    )
    const server = await site.serve(two, lateOnce)
    assert.equal(JSON.parse(await server.logged('a worker does not get ready and is ended')).worker, 2)
    const { worker, signal } = JSON.parse(await server.logged('a worker ended and is replaced'))
    assert.deepEqual({ worker, signal }, { worker: 2, signal: 'SIGKILL' })
    assert.deepEqual([pidsOf(server, 1).length, pidsOf(server, 2).length], [1, 2])
    server.child.kill('SIGTERM')
    assert.deepEqual(await outcome(server), { code: 0, signal: null })
  })

  test('if the writer that they share dies while it is closed, the exit code is 1 (C35.1)', {
    skip: inShortRun,
  }, async () => {
    const diesClosing = meeting(
      'dies-closing',
      `import { DatabaseSync } from 'node:sqlite'
       import { isMainThread } from 'node:worker_threads'
       const { close } = DatabaseSync.prototype
       DatabaseSync.prototype.close = function () {
         // Other databases that a thread opens are in memory.
         return isMainThread || this.location() === null ? close.call(this) : process.exit()
       }`,
    )
    const server = await site.serve(two, diesClosing)
    server.child.kill('SIGTERM')
    assert.deepEqual(await outcome(server), { code: 1, signal: null })
  })
})

describe('serve with workers of which one hangs', { timeout: 120_000 }, () => {
  const site = new Site()
  after(() => site.remove())

  /** Loaded before the program: what would wait for half a minute does so for a second or two. */
  const hurried = {
    NODE_OPTIONS: `--import ${site.file(
      'hurried.mjs',
      `const { setInterval, setTimeout } = globalThis
       const hurry = { ${askEveryMs}: 250, 30000: 1000 }
       globalThis.setInterval = (work, ms, ...more) => setInterval(work, hurry[ms] ?? ms, ...more)
       globalThis.setTimeout = Object.assign(
         (work, ms, ...more) => setTimeout(work, hurry[ms] ?? ms, ...more),
         setTimeout,
       )`,
    )}`,
  }

  /** Neither answers nor ends, until it is killed; at the end of the test at the latest, since it holds the log open. */
  const stall = (server: Program, number: number, t: TestContext): number => {
    const pid = newest(server, number)
    process.kill(pid, 'SIGSTOP')
    t.after(() => isAlive(pid) && process.kill(pid, 'SIGKILL'))
    return pid
  }

  test('a worker that hangs is ended and replaced, and one that has nothing to do is not; one that hangs does not keep the server from stopping, and the exit code is 1 (C35.1)', {
    timeout: 40_000,
  }, async t => {
    const server = await site.serve([...two, '--drain-timeout', '0'], hurried)
    const hanging = stall(server, 2, t)
    assert.equal(JSON.parse(await server.logged('a worker hangs and is ended')).worker, 2)
    const { worker, signal } = JSON.parse(await server.logged('a worker ended and is replaced'))
    assert.deepEqual({ worker, signal }, { worker: 2, signal: 'SIGKILL' })
    await server.line('stderr', line => line.includes('"worker":2,"msg":"ready"'), 2)
    assert.notEqual(newest(server, 2), hanging)
    assert.equal(pidsOf(server, 1).length, 1)

    const alsoHanging = stall(server, 2, t)
    server.child.kill('SIGTERM')
    assert.deepEqual(await outcome(server), { code: 1, signal: null })
    assert.equal(JSON.parse(await server.logged('a worker does not stop and is ended')).worker, 2)
    assert.ok(!isAlive(alsoHanging))
  })
})

describe('serve with workers and wrong settings', { timeout: 120_000 }, () => {
  const site = new Site()
  after(() => site.remove())
  const other = join(site.path, 'other.key')
  createMasterKeyFile(other)

  const serveTwo = (...args: string[]) => site.run(['serve', '--port', '0', '--workers', '2', ...args])

  test('what is wrong is said once, in one line, with the same exit code as without workers (C35.1)', {
    skip: inShortRun,
  }, async () => {
    assertRefused(await serveTwo(), 2, /storage is not configured/)
    await site.run(['migrate', ...site.vault])
    await site.json('tenant', 'create', '--name', 'T')
    assertRefused(
      await serveTwo(...site.vault, '--master-key-file', other),
      1,
      /does not open with the master key in/,
    )
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as { port: number }
    assertRefused(
      await serveTwo(...site.vault, '--port', String(port)),
      1,
      /port \d+ of 127\.0\.0\.1 is taken/,
    )
    taken.close()
  })
})

describe('serve with workers, shared settings', { timeout: 120_000 }, () => {
  const site = new Site()
  after(() => site.remove())

  const install = (name: string): void => {
    const { cert, key } = certificate(name)
    site.file('cert.pem', cert)
    site.file('key.pem', key)
  }
  const tls = ['--tls-cert', join(site.path, 'cert.pem'), '--tls-key', join(site.path, 'key.pem')]

  let server: Program & { url: string }
  before(async () => {
    install('first')
    server = await site.serve([...three, ...tls, '--rate-limit', '0.001', '--rate-limit-burst', '5'])
  })

  test('all workers share one rate limit, and SIGHUP gives all of them the new certificate (C2.22, C35.1)', async () => {
    const { management_api_key } = await site.json('tenant', 'create', '--name', 'T')

    /** The name on the certificate and the status of an answer, on a new connection. */
    const ask = async (): Promise<{ name: string; status: string }> => {
      const port = Number(new URL(server.url).port)
      const socket = tlsConnect({ host: '127.0.0.1', port, rejectUnauthorized: false })
      await once(socket, 'secureConnect')
      socket.write(`GET /tenants/self HTTP/1.1\r\nHost: vault\r\nSVC-API-KEY: ${management_api_key}\r\n\r\n`)
      const [data] = await once(socket, 'data')
      const name = String(socket.getPeerCertificate().subject.CN)
      socket.destroy()
      return { name, status: String(data).split(' ')[1] ?? '' }
    }
    const answers = await Promise.all(Array.from({ length: 9 }, ask))
    assert.deepEqual(answers.map(({ status }) => status).sort(), [
      ...Array(5).fill('200'),
      ...Array(4).fill('429'),
    ])

    install('second')
    server.child.kill('SIGHUP')
    await server.logged('TLS certificates renewed', 3)
    const names = (await Promise.all(Array.from({ length: 6 }, ask))).map(({ name }) => name)
    assert.deepEqual(names, Array(6).fill('second'))
  })

  test('a worker that was starting at SIGHUP is not ended by it, and renews its certificate once it answers (C35.1)', {
    skip: inShortRun,
    timeout: 40_000,
  }, async () => {
    const renewed = (line: string): boolean => line.includes('"worker":2,"msg":"TLS certificates renewed"')
    const before = server.stderr.split('\n').filter(renewed).length
    process.kill(newest(server, 2), 'SIGKILL')
    await server.logged('a worker starts', 4)
    server.child.kill('SIGHUP')
    await server.line('stderr', renewed, before + 1)
    assert.equal(pidsOf(server, 2).length, 2)
    server.child.kill('SIGTERM')
    assert.deepEqual(await outcome(server), { code: 0, signal: null })
  })
})
