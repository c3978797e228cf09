import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { answerBytes, type ReceivedRequest } from '../rig/destination.ts'
import type { Scenario } from './scene.ts'

const host = 'hooks.partner.example'
const page = join(import.meta.dirname, '../../../docs/events.md')
const startsWithinMs = 60_000

/** An example of docs/events.md, with the library that it needs, as published. */
type Example = {
  readonly language: string
  readonly fence: string
  readonly file: string
  /** Installs what it needs into the folder. */
  readonly install: readonly (readonly [string, ...string[]])[]
  readonly run: readonly [string, ...string[]]
  /** Prints what was installed. */
  readonly version: readonly [string, ...string[]]
}

const examples: readonly Example[] = [
  {
    language: 'Node',
    fence: 'js',
    file: 'receiver.mjs',
    install: [['npm', 'install', '--no-audit', '--no-fund', '--silent', 'standardwebhooks']],
    run: [process.execPath, 'receiver.mjs'],
    version: ['npm', 'ls', '--depth', '0', '--parseable', '--long'],
  },
  {
    language: 'Python',
    fence: 'python',
    file: 'receiver.py',
    install: [
      ['python3', '-m', 'venv', 'python'],
      ['python/bin/pip', 'install', '--quiet', 'standardwebhooks'],
    ],
    run: ['python/bin/python', 'receiver.py'],
    version: ['python/bin/pip', 'freeze'],
  },
  {
    language: 'Go',
    fence: 'go',
    file: 'receiver.go',
    install: [
      ['go', 'mod', 'init', 'receiver'],
      ['go', 'get', 'github.com/standard-webhooks/standard-webhooks/libraries'],
      ['go', 'build', '-o', 'receiver', 'receiver.go'],
    ],
    run: ['./receiver'],
    version: ['go', 'list', '-m', 'github.com/standard-webhooks/standard-webhooks/libraries'],
  },
]

/** The example as the page has it, but for its port. */
const sourceOf = ({ fence }: Example, port: number): string => {
  const text = readFileSync(page, 'utf8')
  const source = text.slice(text.indexOf('### Receiving')).split(`\`\`\`${fence}\n`)[1]?.split('```\n')[0]
  if (source === undefined) throw new Error(`docs/events.md has no example in ${fence}`)
  return source.replaceAll('8000', String(port))
}

/** Forwards a delivery as it came, as whatever terminates TLS does. Returns the status, or undefined if nobody answers. */
const forward = (port: number, { headers, body }: ReceivedRequest): Promise<number | undefined> =>
  new Promise(resolve => {
    const asking = request({
      host: '127.0.0.1',
      port,
      method: 'POST',
      path: '/hook',
      headers: Object.fromEntries(headers),
    })
    asking.on('error', () => resolve(undefined))
    asking.on('response', reply => {
      reply.resume()
      reply.on('end', () => resolve(reply.statusCode))
    })
    asking.end(body)
  })

/**
 * E4: the examples of docs/events.md, with the libraries that Standard Webhooks has published, verify what is delivered; with two secrets
 * while one takes over from the other, and with neither once its grace is over. Needs npm, and for the others Python and Go.
 */
export const publishedLibraries: Scenario = {
  name: 'published-libraries',
  engines: ['sqlite'],
  happen: async (scene, say) => {
    const folder = mkdtempSync(join(tmpdir(), 'strongroom-receivers-'))
    const children: ChildProcess[] = []
    const complaints: string[] = []
    const destination = await scene.destination(host)
    const server = await scene.serve()
    const { api_key, management_api_key } = await scene.tenant('Receivers')
    const delivered: ReceivedRequest[] = []
    destination.reply = (socket, received) => {
      delivered.push(received)
      socket.write(answerBytes('', { status: '204 X' }))
    }
    const secrets: string[] = []
    const { id, secret } = await scene.ask(server.url, 'POST', '/webhooks', management_api_key, {
      name: 'Receivers',
      url: `https://${host}:${destination.port}/hook`,
      events: ['token.created'],
    })
    secrets.push(secret)
    const rotate = async (grace_hours: number): Promise<void> => {
      const path = `/webhooks/${id}/secret`
      secrets.push((await scene.ask(server.url, 'POST', path, management_api_key, { grace_hours })).secret)
    }
    const nextDelivery = async (): Promise<ReceivedRequest> => {
      // The node that delivers hears of a new secret within a second.
      await sleep(2_000)
      const { length } = delivered
      await scene.ask(server.url, 'POST', '/tokens', api_key, { type: 'token', data: 'x' })
      for (;;) {
        const next = delivered[length]
        if (next !== undefined) return next
        await sleep(20)
      }
    }
    try {
      const before = await nextDelivery()
      await rotate(1)
      const during = await nextDelivery()
      await rotate(0)
      const afterwards = await nextDelivery()
      const [first = '', second = '', third = ''] = secrets
      const cases = [
        ['before a rotation', before, [first]],
        ['during a rotation', during, [first, second]],
        ['after it', afterwards, [third]],
      ] as const
      let port = 18_000 + (process.pid % 10_000)
      for (const example of examples) {
        const at = join(folder, example.language)
        mkdirSync(at)
        writeFileSync(join(at, example.file), sourceOf(example, ++port))
        const environment = { ...process.env, GOPATH: join(folder, 'go'), GOFLAGS: '-mod=mod -modcacherw' }
        const failed = example.install.find(
          ([program, ...args]) => spawnSync(program, args, { cwd: at, env: environment }).status !== 0,
        )
        if (failed !== undefined) {
          say(`${example.language}: not tried, because ${failed.join(' ')} does not work here`)
          continue
        }
        const [asksVersion, ...how] = example.version
        const versions = spawnSync(asksVersion, how, { cwd: at, env: environment, encoding: 'utf8' }).stdout
        const version = /standard-?webhooks\S*[@= ]+v?([\d.]+\S*)/.exec(versions)?.[1] ?? versions.trim()
        for (const [number, known] of secrets.entries()) {
          const [program, ...args] = example.run
          writeFileSync(join(at, example.file), sourceOf(example, ++port))
          if (example.fence === 'go')
            spawnSync('go', ['build', '-o', 'receiver', example.file], { cwd: at, env: environment })
          const child = spawn(program, args, { cwd: at, env: { ...environment, WEBHOOK_SECRET: known } })
          children.push(child)
          const begun = performance.now()
          while ((await forward(port, { ...before, headers: [] })) === undefined) {
            if (performance.now() - begun > startsWithinMs)
              throw new Error(`${example.language} does not start`)
            await sleep(50)
          }
          for (const [when, delivery, good] of cases) {
            const status = await forward(port, delivery)
            const expected = (good as readonly string[]).includes(known) ? 204 : 400
            if (status !== expected)
              complaints.push(
                `${example.language}, secret ${number + 1}, ${when}: ${status} instead of ${expected}`,
              )
          }
          child.kill('SIGKILL')
          await once(child, 'exit')
        }
        say(
          `${example.language}: standardwebhooks ${version} verifies what is delivered ${cases.map(([when]) => when).join(', ')}, with the secrets of then and no others`,
        )
      }
    } finally {
      for (const child of children) child.kill('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    }
    return complaints
  },
}
