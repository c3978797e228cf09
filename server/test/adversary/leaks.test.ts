import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { after, before, describe, test } from 'node:test'
import { inspect } from 'node:util'
import { endpoints } from '../../src/contract/endpoints.ts'
import { errorsOfHeap, type HeapErrors } from '../rig/heap-errors.ts'
import { TestVault } from '../rig/test-vault.ts'
import { traceFinder } from '../rig/traces.ts'
import { Canaries } from './canaries.ts'
import { type OwnStorage, ownStorages } from './own-storage.ts'
import { sendEverything, type Traffic } from './send-everything.ts'

type Find = ReturnType<typeof traceFinder>

for (const [name, open] of Object.entries(ownStorages))
  describe(`what was sent is nowhere to be found (${name})`, () => {
    const canaries = new Canaries()
    let storage: OwnStorage
    let vault: TestVault
    let traffic: Traffic
    let running: Map<string, Buffer>
    let closed: Map<string, Buffer>
    let log: readonly string[]
    let heap: HeapErrors
    let secrets: Find
    let secretsAndIds: Find
    let secretsAndNames: Find
    let everything: Find
    const errors: unknown[] = []
    const failedRequests = 'strongroom.request.failed'
    const keepError = (event: unknown): void => void errors.push((event as { error: unknown }).error)

    before(async () => {
      storage = await open()
      vault = await TestVault.start({ engine: storage.engine })
      subscribe(failedRequests, keepError)
      log = vault.log
      traffic = await sendEverything(vault, canaries)
      errors.push(...plantedErrors())
      // Taken before anything reads a stack, because its frames are kept only until then.
      heap = await errorsOfHeap()
      running = await storage.files(vault.folder.path)
      await traffic.last()
      await vault.close()
      closed = await storage.files(vault.folder.path)
      const hidden = [...canaries.secrets, ...traffic.keyTexts]
      secrets = traceFinder(hidden)
      secretsAndIds = traceFinder([...hidden, ...canaries.ids])
      secretsAndNames = traceFinder([...hidden, ...canaries.names])
      everything = traceFinder([...hidden, ...canaries.ids, ...canaries.names])
    })
    after(async () => {
      unsubscribe(failedRequests, keepError)
      vault.folder.remove()
      await storage.close()
    })

    test('control: every endpoint was called, refusals of every kind happened, and the search finds what is there (C2.5)', () => {
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
        assert.deepEqual(everything(Buffer.from(`${shift}${text}!`).toString('base64')), [text])
      const stored = Buffer.concat([...running.values()])
      assert.ok(
        [...canaries.ids].some(id => stored.includes(id)),
        'ids are plain, so the right files are searched',
      )
    })

    test('no error response shows what was sent (C2.5)', () => {
      for (const { what, reply } of traffic.sent)
        if (reply.status >= 400) assert.deepEqual(secretsAndIds(reply.text), [], `${what}: ${reply.text}`)
    })

    test('no error object holds what was sent, in a message, a cause or anywhere else (C2.5)', () => {
      assert.ok(errors.length > 20, 'errors were met')
      // An id names the row that an error is about; the log leaves out ids that a caller chose.
      for (const error of errors) {
        const whole = inspect(error, {
          showHidden: true,
          depth: 12,
          maxStringLength: null,
          maxArrayLength: null,
        })
        assert.deepEqual(secrets(whole), [], whole.slice(0, 500))
      }
    })

    test('no error in a memory dump leads to what was sent, not even through its stack frames (C2.5)', () => {
      assert.ok(heap.count >= errors.length, 'errors that are kept are in the dump')
      const texts = heap.texts.join('\n')
      assert.deepEqual(secrets(texts), [])
      for (const planted of ['held by an error', 'held by its cause', 'held by a frame'])
        assert.ok(texts.includes(planted), `control: what is ${planted} is found`)
    })

    test('the title and arguments of the process show nothing of it (C2.5)', () => {
      assert.deepEqual(everything(`${process.title} ${process.argv.join(' ')}`), [])
    })

    test('an internal failure shows its trace id and nothing else (C2.17)', () => {
      const failures = traffic.sent.filter(({ reply }) => reply.status === 500)
      assert.ok(failures.length > 0)
      for (const { reply } of failures) {
        assert.deepEqual(Object.keys(reply.body).sort(), [
          'code',
          'detail',
          'status',
          'title',
          'trace_id',
          'type',
        ])
        assert.ok(log.some(line => line.includes(reply.body.trace_id) && line.includes('"level":"error"')))
      }
    })

    test('no header shows what was sent, except the id in Location (C2.5)', () => {
      for (const { what, reply } of traffic.sent) {
        const headers = [...reply.headers].map(([name, value]) => `${name}: ${value}`)
        const visible = headers.filter(header => !header.startsWith('location:')).join('\n')
        assert.deepEqual(everything(visible), [], what)
      }
    })

    test('no answer to a write shows data (C12.2)', () => {
      const data = traceFinder(canaries.data)
      for (const { what, method, reply } of traffic.sent)
        if (method !== 'GET') assert.deepEqual(data(reply.text), [], what)
    })

    test('the log shows no values, names, ids or keys (C2.5, C2.8, C2.9)', () => {
      assert.ok(log.length >= traffic.sent.length)
      assert.deepEqual(everything(log.join('\n')), [])
      assert.ok(!log.some(line => line.includes('?')), 'a URL with its query')
    })

    test('no file shows values, names or keys, whether the vault is running or closed: no table, no log, nothing else (C30.2, C33.8)', () => {
      for (const files of [running, closed])
        for (const [path, bytes] of files) assert.deepEqual(secretsAndNames(bytes), [], path)
      for (const kind of storage.kinds)
        assert.ok(
          [...running.keys()].some(path => kind.test(path)),
          `${kind} was searched`,
        )
    })
  })

class Parser {
  readonly #input = { text: 'held by a frame' }
  fail(): Error {
    return new Error(`at ${this.#input.text.length}`)
  }
}

/** Errors that do hold something, to show that the search finds it. */
const plantedErrors = (): Error[] => [
  new Error('outer', { cause: { list: [`${'x'.repeat(5_000)} held by its cause`] } }),
  Object.assign(new Error(''), { kept: new Map([['held by an error', 1]]) }),
  new Parser().fail(),
]
