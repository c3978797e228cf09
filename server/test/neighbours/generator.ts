import { Agent as HttpAgent, request as httpRequest } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { getPriority, setPriority } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { StarterKeys } from '../../src/cli/starter-applications.ts'
import { type Attack, niceness } from './attack.ts'
import { attacks } from './attacks.ts'
import { Connection, type Tally } from './connection.ts'
import { Tenant } from './tenant.ts'

export type Keys = Omit<StarterKeys, 'base_url'>
/** To a process of this file: whom it plays, against which server. Without an attack it plays the neighbour. */
export type Order = {
  readonly url: string
  readonly keys: Keys
  readonly attack?: string
  /** A server that the vault may call. */
  readonly farUrl?: string | undefined
}
/** `late`: how late its timer was, which is what the machine adds to what is measured. */
export type Sample = {
  readonly kind: string
  readonly at: number
  readonly ms: number
  readonly status: number
  readonly late: number
}
/** `endedAt`: from then on only those few connections ask that show whether every request is answered. */
export type Report = { readonly endedAt: number; readonly tally: Tally }

const kinds = ['get', 'create', 'list', 'health'] as const
type Kind = (typeof kinds)[number]
/** Each kind ten times a second, in turn. */
const everyMs = 25
/** So that the neighbour has some to every worker. */
const connectionsKept = 8
const patienceMs = 5_000
/** Connections of the attacker that wait for their last answer. */
const connectionsWaiting = 4

const told = (): Promise<void> => new Promise(resolve => process.once('message', () => resolve()))
const tell = (message: object): Promise<void> =>
  new Promise(resolve => process.send?.(message, () => resolve()))

/**
 * Sends on time, whether or not it was answered, until it is told to stop. Not niced: it needs a hundredth of a core, and would
 * measure how long it waits for that.
 */
const watch = async ({ url, keys }: Order): Promise<void> => {
  const isTls = url.startsWith('https:')
  const agents = Array.from({ length: connectionsKept }, () =>
    isTls ? new HttpsAgent({ keepAlive: true }) : new HttpAgent({ keepAlive: true }),
  )
  const tenant = new Tenant(url, keys)
  const token = { type: 'token', data: 'of a neighbour' }
  const { id } = await tenant.call('POST', '/tokens', keys.api_key, token)
  const paths = { get: `/tokens/${id}`, create: '/tokens', list: '/tokens?size=20', health: '/health' }
  const body = JSON.stringify(token)

  const ask = (kind: Kind, tick: number): Promise<number> =>
    new Promise(resolve => {
      const isCreate = kind === 'create'
      const round = Math.floor(tick / kinds.length)
      // Half of the probes come on a connection of their own, as those of most load balancers do.
      const isAlone = kind === 'health' && round % 2 === 0
      const asking = (isTls ? httpsRequest : httpRequest)(url + paths[kind], {
        agent: isAlone ? false : agents[round % connectionsKept],
        method: isCreate ? 'POST' : 'GET',
        headers: {
          ...(kind !== 'health' && { 'svc-api-key': isCreate ? keys.api_key : keys.private_api_key }),
          ...(isCreate && { 'content-type': 'application/json', 'content-length': body.length }),
        },
        signal: AbortSignal.timeout(patienceMs),
      })
      asking.on('response', reply => {
        reply.resume()
        reply.on('end', () => resolve(reply.statusCode ?? 0))
        reply.on('close', () => resolve(0))
      })
      asking.on('error', () => resolve(0))
      asking.end(isCreate ? body : undefined)
    })

  const started = Date.now()
  const sample = async (tick: number): Promise<Sample> => {
    const kind = kinds[tick % kinds.length] ?? 'get'
    const at = Date.now()
    const sent = performance.now()
    const status = await ask(kind, tick)
    return { kind, at, ms: performance.now() - sent, status, late: at - started - tick * everyMs }
  }
  const samples: Promise<Sample>[] = []
  const ticking = setInterval(() => {
    while (samples.length * everyMs <= Date.now() - started) samples.push(sample(samples.length))
  }, 5)
  await tell({ isReady: true })
  await told()
  clearInterval(ticking)
  await tell(await Promise.all(samples))
}

/** Prepares the attack, and carries it out from one message to the next. */
const carryOut = async ({ connections, prepare }: Attack, { url, keys, farUrl }: Order): Promise<void> => {
  setPriority(getPriority() + niceness)
  const run = await prepare(new Tenant(url, keys, farUrl))
  await tell({ isReady: true })
  await told()
  const over = new AbortController()
  const tally: Tally = {}
  const crowd = Array.from({ length: connections }, () => new Connection(url, tally, over.signal))
  const working = crowd.map(async (connection, number) => {
    for (let round = 0; !over.signal.aborted; round++) await run(connection, number, round)
  })
  await told()
  over.abort()
  const asking = crowd.filter(({ due }) => due > 0).slice(0, connectionsWaiting)
  const waiting = new Map(asking.map(connection => [connection, connection.due]))
  for (const connection of crowd) if (!waiting.has(connection)) connection.close()
  const endedAt = Date.now()
  await Promise.race([Promise.all(working), sleep(patienceMs)])
  // Of thousands of requests on one connection, some may well be left.
  const unanswered = [...waiting].filter(([connection, due]) => connection.due === due).length
  await tell({ endedAt, tally: { ...tally, ...(unanswered > 0 && { unanswered }) } } satisfies Report)
}

process.once('disconnect', () => process.exit())
const order: Order = JSON.parse(process.argv[2] ?? '')
const attack = attacks.find(({ name }) => name === order.attack)
await (attack === undefined ? watch(order) : carryOut(attack, order))
process.exit()
