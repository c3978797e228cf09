import { parseArgs } from 'node:util'
import { domainPromises, fuzzDomain } from './fuzz-domain.ts'
import { fuzzHttp, memoryLeftBy } from './fuzz-http.ts'

/** `npm run test:fuzz -- --seed N --runs N`: the fuzzers for as long as you like, and what they leave in memory. */
const { values } = parseArgs({
  options: { seed: { type: 'string' }, runs: { type: 'string', default: '20000' } },
})
const seed = Number(values.seed ?? Date.now() % 1_000_000)
const runs = Number(values.runs)
const leftBytesMax = 32 * 1_048_576
const say = (line: string): void => void process.stdout.write(`${line}\n`)
say(`seed ${seed}`)
for (const name of domainPromises) {
  fuzzDomain(name, { seed, runs })
  say(`${runs} times: ${name}`)
}
await fuzzHttp({ seed, runs: Math.min(runs, 2_000) })
const left = await memoryLeftBy(() => fuzzHttp({ seed: seed + 1, runs }))
say(`${runs} requests, ${Math.round(left / 1_048_576)} MiB left in memory`)
if (left > leftBytesMax) {
  say(`failed: more than ${leftBytesMax / 1_048_576} MiB`)
  process.exitCode = 1
}
