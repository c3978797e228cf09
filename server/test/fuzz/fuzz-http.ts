import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { assertAnswerRules, makeReply } from '../rig/answers.ts'
import { ownerAndManager } from '../rig/applications.ts'
import { assertInterfaceRules } from '../rig/interface-rules.ts'
import { fc } from '../rig/properties.ts'
import { TestVault } from '../rig/test-vault.ts'
import { type FuzzRequest, requests } from './from-openapi.ts'
import { rawConnections } from './raw-requests.ts'

export type FuzzOptions = {
  readonly seed: number
  readonly runs: number
  /** Whether there are enough runs to meet every status; a few runs of any seed need not. */
  readonly meetsAll?: boolean
}

const answersWithinMs = 10_000

/** Requests of every shape to every endpoint: no 500, no hang, no crash. */
export const fuzzHttp = (options: FuzzOptions): Promise<void> => withFuzzedVault(fuzz => fuzz(options))

/** One vault that is fuzzed as often as the work asks for. */
export const withFuzzedVault = async <T>(
  work: (fuzz: (options: FuzzOptions) => Promise<void>) => Promise<T>,
): Promise<T> => {
  const vault = await TestVault.start()
  try {
    const { keys } = await vault.tenant(ownerAndManager)
    return await work(options => fuzzVault(vault, keys, options))
  } finally {
    await vault.stop()
  }
}

const fuzzVault = async (
  vault: TestVault,
  keys: { readonly owner: string; readonly manager: string },
  { seed, runs, meetsAll = false }: FuzzOptions,
): Promise<void> => {
  const keyFor = ({ path }: FuzzRequest): string =>
    /^\/(v2\/|de)?token/.test(path) ? keys.owner : keys.manager
  const met = new Set<number>()
  await fc.assert(
    fc.asyncProperty(requests(), async request => {
      met.add(await sendFuzzed(vault, request, keyFor(request)))
    }),
    { seed, numRuns: runs },
  )
  for (const status of meetsAll ? [200, 201, 400, 401, 404, 415] : [])
    assert.ok(met.has(status), `no ${status} was met`)
  await fc.assert(
    fc.asyncProperty(rawConnections(), bytes => converse(vault, bytes.replaceAll('{key}', keys.owner))),
    { seed, numRuns: Math.ceil(runs / 4) },
  )
  assert.deepEqual(
    vault.log.filter(line => line.includes('"level":"error"')),
    [],
    'nothing failed inside',
  )
  // The log belongs to the test, so it is not memory that the vault has kept.
  vault.log.length = 0
}

const sendFuzzed = async (vault: TestVault, request: FuzzRequest, key: string): Promise<number> => {
  const { method, path, type, body } = request
  const reply = await fetch(vault.baseUrl + path, {
    method,
    headers: { 'svc-api-key': key, ...(type !== undefined && { 'content-type': type }), ...request.headers },
    // fetch refuses to send a body with these.
    ...(body !== undefined && method !== 'GET' && method !== 'HEAD' && { body }),
    redirect: 'manual',
    signal: AbortSignal.timeout(answersWithinMs),
  })
  const answer = makeReply(reply.status, reply.headers, await reply.text())
  assertAnswerRules(answer, method)
  assertInterfaceRules(answer, method, path)
  assert.ok(answer.status < 500, answer.text)
  return answer.status
}

/** Sends bytes and closes its side. What comes back must be answers, none of them a failure. */
const converse = (vault: TestVault, bytes: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(vault.baseUrl)
    const socket = connect(Number(port), hostname)
    let received = ''
    const timer = setTimeout(() => {
      socket.destroy()
      reject(new Error('the connection hangs'))
    }, answersWithinMs)
    socket.setEncoding('latin1').on('data', (text: string) => {
      received += text
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      clearTimeout(timer)
      const failure = received.match(/^HTTP\/1\.1 5\d\d.*$/m)?.[0]
      if (failure === undefined) resolve()
      else reject(new Error(failure))
    })
    socket.end(bytes, 'latin1')
  })

/** How much memory the work leaves behind after garbage collection. */
export const memoryLeftBy = async (work: () => Promise<void>): Promise<number> => {
  const before = await memoryUsed()
  await work()
  return (await memoryUsed()) - before
}

const memoryUsed = async (): Promise<number> => {
  const collect = globalThis.gc
  assert.ok(collect, 'run with --expose-gc')
  // What an object holds outside the heap is freed by the collection after its own.
  for (let time = 0; time < 4; time++) {
    await collect()
    await nextIteration()
  }
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
