import { statSync } from 'node:fs'
import { join } from 'node:path'
import { startBareInsert } from './bare-insert.ts'
import { card } from './cards.ts'
import { type LoadJob, type RequestKind, valuesPerTokenize } from './load.ts'
import { makeTokens } from './make-tokens.ts'
import {
  type BenchKeys,
  load,
  type Measured,
  type MeasuredVault,
  startEcho,
  startVault,
} from './processes.ts'
import { nextSerial, rounds, seconds } from './settings.ts'
import { median, type Round, spread } from './statistics.ts'

/** One kind of request, measured against its yardstick. */
type Scenario = {
  readonly kind: RequestKind
  readonly key: keyof BenchKeys
  readonly connections: number
  /** The lowest acceptable ratio to the yardstick. */
  readonly bar?: number
}

export const scenarios: Readonly<Record<string, Scenario>> = {
  create: { kind: 'create', key: 'write', connections: 64, bar: 0.4 },
  get: { kind: 'get', key: 'reveal', connections: 64, bar: 0.6 },
  'get-masked': { kind: 'get', key: 'mask', connections: 64, bar: 0.55 },
  list: { kind: 'list', key: 'reveal', connections: 64, bar: 0.15 },
  pages: { kind: 'pages', key: 'reveal', connections: 64, bar: 0.15 },
  patch: { kind: 'patch', key: 'write', connections: 64 },
  mixed: { kind: 'mixed', key: 'reveal', connections: 64 },
  tokenize: { kind: 'tokenize', key: 'write', connections: 8, bar: 0.5 },
}

type Sides = { readonly yardstick: Round[]; readonly vault: Round[] }

export type Result = Sides & { readonly row: Record<string, string> }

const tokensBefore = 10_000

const oneRound = async (server: Measured, job: LoadJob): Promise<Round> => {
  const before = server.cpuMicroseconds()
  const { requests, seconds: took, latenciesMs } = await load(job)
  return {
    perSecond: requests / took,
    cpuMicroseconds: (server.cpuMicroseconds() - before) / requests,
    ...latenciesMs,
  }
}

/** Interleaves rounds, so that other load on the machine affects both alike. */
export const runScenario = async (name: string, scenario: Scenario): Promise<Result> => {
  const vault = await startVault()
  const ids = await makeTokens(vault, tokensBefore)
  const job = (port: number, length: number, rate?: number): LoadJob => ({
    port,
    kind: scenario.kind,
    key: vault.keys[scenario.key],
    writeKey: vault.keys.write,
    ids,
    connections: scenario.connections,
    seconds: length,
    serial: nextSerial(),
    ...(rate !== undefined && { rate }),
  })
  const yardstick = await (scenario.kind === 'tokenize'
    ? insertRounds()
    : echoRounds(await answerBytes(vault, job(vault.port, 0)), (port, rate) => job(port, seconds, rate)))
  const interleaved = async (rate?: number): Promise<Sides> => {
    const sides: Sides = { yardstick: [], vault: [] }
    for (let round = 0; round < rounds; round++) {
      sides.yardstick.push(...(await yardstick.round(rate)))
      sides.vault.push(await oneRound(vault, job(vault.port, seconds, rate)))
    }
    return sides
  }
  await oneRound(vault, job(vault.port, 2))
  const result = await interleaved()
  const calm = await interleaved(median(result.vault.map(round => round.perSecond)) / 2)
  const resident = vault.residentMiB()
  const bytes = ['vault.db', 'vault.db-wal'].reduce(
    (sum, file) => sum + statSync(join(vault.folder, file)).size,
    0,
  )
  await yardstick.stop()
  await vault.stop()
  return { ...result, row: toRow(name, scenario, result, calm, { resident, bytes }) }
}

type Yardstick = {
  /** One round, or none if this yardstick knows no rate. */
  round(rate?: number): Promise<Round[]>
  stop(): Promise<void>
}

const echoRounds = async (
  bytes: number,
  job: (port: number, rate?: number) => LoadJob,
): Promise<Yardstick> => {
  const echo = await startEcho(bytes)
  await oneRound(echo, { ...job(echo.port), seconds: 1 })
  return { round: async rate => [await oneRound(echo, job(echo.port, rate))], stop: () => echo.stop() }
}

const insertRounds = async (): Promise<Yardstick> => {
  const insert = await startBareInsert(valuesPerTokenize)
  return { round: async rate => (rate === undefined ? [await insert.round()] : []), stop: insert.stop }
}

const toRow = (
  name: string,
  { bar }: Scenario,
  { yardstick, vault }: Sides,
  calm: Sides,
  { resident, bytes }: { resident: number; bytes: number },
): Record<string, string> => {
  const rates = vault.map(round => round.perSecond)
  const ratio = median(vault.map((round, i) => round.perSecond / (yardstick[i]?.perSecond ?? 1)))
  const of = (side: readonly Round[], pick: (round: Round) => number): number => median(side.map(pick))
  const p99 = (side: readonly Round[]): string =>
    side.length === 0 ? '' : of(side, round => round.p99).toFixed(1)
  return {
    scenario: name,
    'vault/s': median(rates).toFixed(0),
    spread: spread(rates),
    'yardstick/s': of(yardstick, round => round.perSecond).toFixed(0),
    ratio: ratio.toFixed(2),
    bar: bar === undefined ? '' : `${bar.toFixed(2)} ${ratio >= bar ? 'met' : 'MISSED'}`,
    'vault µs': of(vault, round => round.cpuMicroseconds).toFixed(0),
    'yardstick µs': of(yardstick, round => round.cpuMicroseconds).toFixed(0),
    'p50 ms': of(vault, round => round.p50).toFixed(1),
    'p99 ms': p99(vault),
    'p99.9 ms': of(vault, round => round.p999).toFixed(1),
    'p99 ms at half the rate': p99(calm.vault),
    'yardstick at that rate': p99(calm.yardstick),
    'resident MiB': resident.toFixed(0),
    'data MiB': (bytes / 1_048_576).toFixed(0),
  }
}

/** The length of an answer, so that the echo's can be the same. */
const answerBytes = async (vault: MeasuredVault, { kind, key, ids }: LoadJob): Promise<number> => {
  const base = `http://127.0.0.1:${vault.port}`
  const headers = { 'svc-api-key': key }
  const send = (method: string, path: string, type?: string, body?: unknown): Promise<Response> =>
    fetch(base + path, {
      method,
      headers: { ...headers, ...(type && { 'content-type': type }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
  const ask: Record<
    Exclude<RequestKind, 'proxy' | 'deduplicated' | 'detokenize'>,
    () => Promise<Response>
  > = {
    create: () => send('POST', '/tokens', 'application/json', card(0)),
    get: () => send('GET', `/tokens/${ids[0]}`),
    list: () => send('GET', '/tokens?size=20'),
    pages: () => send('GET', '/tokens?size=20'),
    patch: () => send('PATCH', `/tokens/${ids[0]}`, 'application/merge-patch+json', {}),
    tokenize: () => send('POST', '/tokenize', 'application/json', ['x']),
    // Nearly all requests of a mixed load resemble a get.
    mixed: () => send('GET', `/tokens/${ids[0]}`),
  }
  if (kind === 'proxy' || kind === 'deduplicated' || kind === 'detokenize')
    throw new Error(`the echo is no yardstick of ${kind}`)
  return (await (await ask[kind]()).arrayBuffer()).byteLength
}
