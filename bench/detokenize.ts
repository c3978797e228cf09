import type { LoadJob } from './load.ts'
import { makeTokens } from './make-tokens.ts'
import { load, startVault } from './processes.ts'
import { nextSerial, rounds, seconds } from './settings.ts'
import { median } from './statistics.ts'

/** Detokenize beside gets, in turn: what a token costs that is read with others, and one that is read alone. */
const requests = {
  get: { kind: 'get', connections: 64, tokens: 1 },
  'detokenize of 100': { kind: 'detokenize', connections: 16, tokens: 100 },
  'detokenize of 1,000': { kind: 'detokenize', connections: 4, tokens: 1_000 },
} as const
/** The CPU time of so many gets is the most that 100 tokens may take. */
const getsPerHundred = 12
/** At least so many tokens, by thousands in a request. */
const tokensPerSecond = 20_000

type Name = keyof typeof requests
type Measured = { readonly perSecond: number; readonly cpu: number }

export const benchDetokenize = async (): Promise<void> => {
  const vault = await startVault(undefined, process.env.BENCH_FLAGS?.split(' ') ?? [])
  const ids = await makeTokens(vault, 10_000)
  const oneRound = async (name: Name, length = seconds): Promise<Measured> => {
    const job: LoadJob = {
      ...requests[name],
      port: vault.port,
      key: vault.keys.reveal,
      ids,
      seconds: length,
      serial: nextSerial(),
    }
    const before = vault.cpuMicroseconds()
    const result = await load(job)
    return {
      perSecond: result.requests / result.seconds,
      cpu: (vault.cpuMicroseconds() - before) / result.requests,
    }
  }
  const names = Object.keys(requests) as Name[]
  const of: Record<Name, Measured[]> = { get: [], 'detokenize of 100': [], 'detokenize of 1,000': [] }
  for (const name of names) await oneRound(name, 2)
  for (let round = 0; round < rounds; round++) for (const name of names) of[name].push(await oneRound(name))
  const gets = (name: Name): number =>
    median(of[name].map(({ cpu }, at) => (cpu / requests[name].tokens / (of.get[at]?.cpu ?? 1)) * 100))
  console.table(
    names.map(name => ({
      request: name,
      'tokens/s': (median(of[name].map(({ perSecond }) => perSecond)) * requests[name].tokens).toFixed(0),
      'CPU µs per token': (median(of[name].map(({ cpu }) => cpu)) / requests[name].tokens).toFixed(1),
      'gets per 100 tokens': gets(name).toFixed(1),
    })),
  )
  const rate = median(of['detokenize of 1,000'].map(({ perSecond }) => perSecond)) * 1_000
  const met = (isMet: boolean): string => (isMet ? 'met' : 'MISSED')
  console.log(`${tokensPerSecond} tokens/s: ${met(rate >= tokensPerSecond)}`)
  console.log(`${getsPerHundred} gets for 100 tokens: ${met(gets('detokenize of 100') <= getsPerHundred)}`)
  await vault.stop()
}
