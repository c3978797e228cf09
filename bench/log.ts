import { join } from 'node:path'
import type { LoadJob, RequestKind } from './load.ts'
import { makeTokens } from './make-tokens.ts'
import { type BenchKeys, load, type MeasuredVault, startVault } from './processes.ts'
import { nextSerial, rounds, seconds } from './settings.ts'
import { median, type Round } from './statistics.ts'

type Kind = {
  readonly name: string
  readonly kind: RequestKind
  readonly key: keyof BenchKeys
  readonly bar: number
}

/** L8: what the log may cost, as the ratio of what a server with it answers to what one without it does. */
const kinds: readonly Kind[] = [
  { name: 'create', kind: 'create', key: 'write', bar: 0.88 },
  { name: 'get masked', kind: 'get', key: 'mask', bar: 0.88 },
  { name: 'get revealed', kind: 'get', key: 'reveal', bar: 0.65 },
  { name: 'list masked', kind: 'list', key: 'mask', bar: 0.85 },
]

const tokensBefore = 2_000
const withoutLog = ['--import', join(import.meta.dirname, 'without-log.ts')]

/** The same load, in turn, on a server with the log and on one into which a stub of it was put. */
export const benchLog = async (): Promise<void> => {
  const sides = [await side(), await side(withoutLog)] as const
  const rows: Record<string, string>[] = []
  let creates = 0
  for (const kind of kinds) {
    const on: Round[] = []
    const off: Round[] = []
    for (let round = 0; round < rounds; round++)
      // The one that begins changes, so that neither always finds the machine warmer.
      for (const [which, into] of round % 2 === 0 ? bothWays(on, off) : bothWays(on, off).reverse())
        into.push(await oneRound(sides[which], kind))
    const rate = median(on.map(({ perSecond }) => perSecond))
    if (kind.name === 'create') creates = rate
    const ratio = median(on.map(({ perSecond }, at) => perSecond / (off[at]?.perSecond ?? 1)))
    rows.push({
      request: kind.name,
      'on/s': rate.toFixed(0),
      'off/s': median(off.map(({ perSecond }) => perSecond)).toFixed(0),
      ratio: ratio.toFixed(3),
      bar: `${kind.bar} ${ratio >= kind.bar ? 'met' : 'MISSED'}`,
      'CPU µs on': median(on.map(({ cpuMicroseconds }) => cpuMicroseconds)).toFixed(1),
      'CPU µs off': median(off.map(({ cpuMicroseconds }) => cpuMicroseconds)).toFixed(1),
      'of creates': (rate / creates).toFixed(2),
    })
  }
  console.table(rows)
  for (const { vault } of sides) await vault.stop()
}

const bothWays = (on: Round[], off: Round[]): [0 | 1, Round[]][] => [
  [0, on],
  [1, off],
]

type Side = { readonly vault: MeasuredVault; readonly ids: readonly string[] }

const side = async (flags: readonly string[] = []): Promise<Side> => {
  const vault = await startVault(undefined, flags)
  return { vault, ids: await makeTokens(vault, tokensBefore) }
}

const oneRound = async ({ vault, ids }: Side, { kind, key }: Kind): Promise<Round> => {
  const job: LoadJob = {
    port: vault.port,
    kind,
    key: vault.keys[key],
    ids,
    connections: 64,
    seconds,
    serial: nextSerial(),
  }
  const before = vault.cpuMicroseconds()
  const { requests, seconds: took, latenciesMs } = await load(job)
  return {
    perSecond: requests / took,
    cpuMicroseconds: (vault.cpuMicroseconds() - before) / requests,
    ...latenciesMs,
  }
}
