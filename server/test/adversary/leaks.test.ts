import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { after, before, describe, test } from 'node:test'
import { inspect } from 'node:util'
import { endpoints } from '../../src/contract/endpoints.ts'
import { engines } from '../rig/engines.ts'
import { TestVault } from '../rig/test-vault.ts'
import { tracesOf } from '../rig/traces.ts'
import { Canaries } from './canaries.ts'
import { sendEverything, type Traffic } from './send-everything.ts'

for (const engine of engines)
  describe(`what was sent is nowhere to be found (${engine.name})`, () => {
    const canaries = new Canaries()
    let vault: TestVault
    let traffic: Traffic
    let running: Map<string, Buffer>
    let closed: Map<string, Buffer> | undefined
    let log: readonly string[]
    const errors: unknown[] = []
    const failedRequests = 'tracing:fastify.request.handler:error'
    const keepError = (event: unknown): void => void errors.push((event as { error: unknown }).error)

    before(async () => {
      vault = await TestVault.start({ engine })
      subscribe(failedRequests, keepError)
      log = vault.log
      traffic = await sendEverything(vault, canaries)
      running = await engine.content(vault.folder.path)
      await traffic.last()
      await vault.service.close()
      closed = await engine.content(vault.folder.path)
    })
    after(() => unsubscribe(failedRequests, keepError))
    after(() => (closed === undefined ? vault.stop() : vault.folder.remove()))

    test('C2.5 control: every endpoint was met, refusals of each kind happened, and the search can find', () => {
      const met = new Set(traffic.sent.map(({ reply }) => reply.status))
      for (const status of [200, 201, 204, 400, 401, 403, 404, 405, 409, 413, 415, 431, 500])
        assert.ok(met.has(status), `no answer was a ${status}`)
      for (const { method, path } of Object.values(endpoints))
        assert.ok(
          log.some(line => line.includes(`"method":"${method}","route":"${path}"`)),
          `${method} ${path} was not met`,
        )
      const [text] = canaries.data
      assert.ok(text)
      for (const shift of ['', 'a', 'ab'])
        assert.deepEqual(tracesOf([text], Buffer.from(`${shift}${text}!`).toString('base64')), [text])
      const stored = Buffer.concat([...running.values()])
      assert.ok(
        [...canaries.ids].some(id => stored.includes(id)),
        'ids are plain, so the right files are searched',
      )
    })

    test('C2.5 no error shows what was sent', () => {
      for (const { what, reply } of traffic.sent)
        if (reply.status >= 400)
          assert.deepEqual(
            tracesOf([...canaries.secrets, ...canaries.ids, ...traffic.keyTexts], reply.text),
            [],
            `${what}: ${reply.text}`,
          )
    })

    test('C2.5 no error object holds what was sent, in a message, a cause or anywhere else', () => {
      assert.ok(errors.length > 20, 'errors were met')
      // An id names the row that an error is about; the log leaves out those that a caller chose.
      const secrets = [...canaries.secrets, ...traffic.keyTexts]
      for (const error of errors) {
        const whole = inspect(error, {
          showHidden: true,
          depth: 12,
          maxStringLength: null,
          maxArrayLength: null,
        })
        assert.deepEqual(tracesOf(secrets, whole), [], whole.slice(0, 500))
      }
    })

    test('C2.5 the name of the process shows nothing of it', () => {
      const everything = [...canaries.secrets, ...canaries.names, ...canaries.ids, ...traffic.keyTexts]
      assert.deepEqual(tracesOf(everything, `${process.title} ${process.argv.join(' ')}`), [])
    })

    test('C2.17 a failure inside shows its trace id and nothing else', () => {
      const failures = traffic.sent.filter(({ reply }) => reply.status === 500)
      assert.ok(failures.length > 0)
      for (const { reply } of failures) {
        assert.deepEqual(Object.keys(reply.body).sort(), ['detail', 'status', 'title', 'trace_id', 'type'])
        assert.ok(log.some(line => line.includes(reply.body.trace_id) && line.includes('"level":"error"')))
      }
    })

    test('C2.5 no header shows what was sent, but for the id in Location', () => {
      for (const { what, reply } of traffic.sent) {
        const headers = [...reply.headers].map(([name, value]) => `${name}: ${value}`)
        const visible = headers.filter(header => !header.startsWith('location:')).join('\n')
        assert.deepEqual(
          tracesOf([...canaries.secrets, ...canaries.names, ...canaries.ids, ...traffic.keyTexts], visible),
          [],
          what,
        )
      }
    })

    test('C12.2 no answer to a write shows data', () => {
      for (const { what, method, reply } of traffic.sent)
        if (method !== 'GET') assert.deepEqual(tracesOf(canaries.data, reply.text), [], what)
    })

    test('C2.5 C2.8 C2.9 the log shows neither values nor names nor ids nor keys', () => {
      assert.ok(log.length >= traffic.sent.length)
      const everything = [...canaries.secrets, ...canaries.names, ...canaries.ids, ...traffic.keyTexts]
      assert.deepEqual(tracesOf(everything, log.join('\n')), [])
      assert.ok(!log.some(line => line.includes('?')), 'a URL with its query')
    })

    test('C30.2 C33.8 no file of the vault shows values, names or keys, running or closed', () => {
      for (const files of [running, closed ?? new Map<string, Buffer>()])
        for (const [path, bytes] of files)
          assert.deepEqual(
            tracesOf([...canaries.secrets, ...canaries.names, ...traffic.keyTexts], bytes),
            [],
            path,
          )
      assert.ok([...running.keys()].some(path => path.endsWith('-wal')) || engine.name !== 'sqlite')
    })
  })
