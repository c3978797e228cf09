import { ClientRequest } from 'node:http'
import { isMainThread } from 'node:worker_threads'
import '../rig/later-release.ts'
import { pace } from '../../src/domain/pace.ts'
import { NodeExchange } from '../../src/http/connections/node-exchange.ts'
import { PlainExchange } from '../../src/http/connections/plain-exchange.ts'
import { type KillOrder, orderVariable } from './kill-order.ts'

/**
 * Loaded before the program (`node --import`), in each of its threads and workers. It wraps what the store is built on
 * and kills the process the n-th time it passes a point, so that the program itself needs no hook.
 */
const order: KillOrder | undefined = JSON.parse(process.env[orderVariable] ?? 'null') ?? undefined

if (order !== undefined) {
  // A node lives for seconds: what another one does after half a minute would never happen.
  Object.assign(pace, { deliverIntervalMs: 100, deliverLeaseMs: 1_000, deliverRenewMs: 300 })
  if (order.clockMs !== undefined) moveClock(order.clockMs)
  if (order.point !== undefined) await arm(order)
}

function moveClock(byMs: number): void {
  const now = Date.now
  Date.now = () => now() + byMs
}

async function arm({ point, pass = 1, engine, delayMs = 0 }: KillOrder): Promise<void> {
  let passes = 0
  const isDue = (here: KillOrder['point']): boolean => here === point && ++passes === pass
  const reach = (here: KillOrder['point']): void => {
    if (isDue(here)) process.kill(process.pid, 'SIGKILL')
  }
  if (point === 'before-answer') {
    if (isMainThread) watchAnswers(() => reach('before-answer'))
    return
  }
  if (point === 'before-call' || point === 'after-call') {
    if (isMainThread) watchCalls(reach)
    return
  }
  if (engine !== 'sqlite') {
    const { watchPostgres } = await import('./postgres-points.ts')
    watchPostgres(reach)
    return
  }
  const { watchSqlite } = await import('./sqlite-points.ts')
  const { killer } = await import('./killer.ts')
  // At a point that lasts, another thread kills the process meanwhile.
  const isLasting = point === 'in-commit' || point === 'in-checkpoint'
  const killSoon = isLasting && !isMainThread ? killer(delayMs) : undefined
  watchSqlite(here => {
    if (killSoon === undefined) reach(here)
    else if (isDue(here)) killSoon()
  })
}

/** Reports when the answer to a successful write is about to be sent. */
function watchAnswers(reached: () => void): void {
  for (const { prototype } of [NodeExchange, PlainExchange]) {
    const { send } = prototype
    prototype.send = function (status, ...rest) {
      if (this.method !== 'GET' && status < 300) reached()
      return send.call(this, status, ...rest)
    }
  }
}

/** Reports when the bytes of a call to another server are about to be written, and when they were: its record is durable by then. */
function watchCalls(reached: (point: 'before-call' | 'after-call') => void): void {
  const { end } = ClientRequest.prototype
  ClientRequest.prototype.end = function (...rest: unknown[]) {
    reached('before-call')
    const ended = end.apply(this, rest as never)
    // Node writes them in this iteration of its event loop, and the partner's answer comes in a later one.
    setImmediate(() => reached('after-call'))
    return ended
  }
}
