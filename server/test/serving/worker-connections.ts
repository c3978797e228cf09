import assert from 'node:assert/strict'
import type { Program } from '../rig/program.ts'
import { Flight } from './flight.ts'
import { freshCall } from './fresh-call.ts'

type Serving = Program & { url: string }

/** The pids of the workers started under this number, newest last. */
export const pidsOf = (server: Program, number: number): number[] =>
  server.stderr
    .split('\n')
    .filter(line => line.includes('"msg":"a worker starts"'))
    .map(line => JSON.parse(line))
    .filter(({ worker }) => worker === number)
    .map(({ pid }) => pid)

export const newest = (server: Program, number: number): number => {
  const pid = pidsOf(server, number).at(-1)
  assert.ok(pid)
  return pid
}

/** A connection to each worker. The system decides who gets one, so connections are made until each worker has its own. */
export const connectionsToAll = async (server: Serving, numbers: readonly number[]) => {
  const connections = new Map<number, Flight>()
  while (numbers.some(number => !connections.has(number))) {
    const { flight, worker } = await connection(server)
    if (connections.has(worker)) flight.socket.destroy()
    else connections.set(worker, flight)
  }
  return numbers.map(worker => ({ worker, flight: connections.get(worker) as Flight }))
}

export type Contender = Awaited<ReturnType<typeof connectionsToAll>>[number]

let connectionsMade = 0

/** The log line of its first request tells which worker took the connection. */
export const connection = async (server: Serving): Promise<Contender> => {
  const flight = new Flight(server.url)
  const traceId = `connection-${++connectionsMade}.`
  flight.socket.write(`GET /health HTTP/1.1\r\nHost: vault\r\nSVC-TRACE-ID: ${traceId}\r\n\r\n`)
  await flight.received('HTTP/1.1 200 OK')
  const line = await server.line('stderr', text => text.includes(traceId))
  return { flight, worker: JSON.parse(line).worker }
}

/**
 * Revokes a key while worker 2, which knows it, does nothing else than what it has begun, and asks that worker with the key as soon
 * as the revocation is answered. Needs two workers and --log-level debug. Returns what the worker answers.
 */
export const askBusyWorkerWithRevokedKey = async (server: Serving, manager: string): Promise<string> => {
  const application = { name: 'x', type: 'private', permissions: ['token:read'] }
  const { body } = await freshCall(server.url, 'POST', '/applications', manager, application)
  const keys = await freshCall(server.url, 'GET', `/applications/${body.id}/keys`, manager)
  const [{ id }] = Array.isArray(keys.body) ? keys.body : keys.body.data
  const [calm, busy] = await connectionsToAll(server, [1, 2])
  assert.ok(calm && busy)
  const ask = `GET /tokens HTTP/1.1\r\nHost: vault\r\nSVC-API-KEY: ${body.key}\r\n\r\n`
  busy.flight.text = ''
  busy.flight.socket.write(ask)
  await busy.flight.received('HTTP/1.1 200 OK')
  busy.flight.text = ''
  busy.flight.socket.write(ask.slice(0, 20))
  const pid = newest(server, 2)
  process.kill(pid, 'SIGSTOP')
  try {
    calm.flight.text = ''
    calm.flight.socket.write(
      `DELETE /applications/${body.id}/keys/${id} HTTP/1.1\r\nHost: vault\r\nSVC-API-KEY: ${manager}\r\n\r\n`,
    )
    await calm.flight.received('HTTP/1.1 204')
    busy.flight.socket.write(ask.slice(20))
  } finally {
    process.kill(pid, 'SIGCONT')
  }
  await busy.flight.received('HTTP/1.1 ')
  calm.flight.socket.destroy()
  busy.flight.socket.destroy()
  return busy.flight.text
}
