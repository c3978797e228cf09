import { parseArgs } from 'node:util'
import { domainPromises, fuzzDomain } from './fuzz-domain.ts'
import { memoryLeftBy, withFuzzedVault } from './fuzz-http.ts'
import { fuzzWire } from './fuzz-wire.ts'

/** `npm run test:fuzz -- --seed N --runs N`: the fuzzers for as long as you like, and the memory they leave behind. */
const { values } = parseArgs({
  options: { seed: { type: 'string' }, runs: { type: 'string', default: '20000' } },
})
const seed = Number(values.seed ?? Date.now() % 1_000_000)
const runs = Number(values.runs)
const enoughRuns = 2_000
const leftBytesMax = 32 * 1_048_576
const say = (line: string): void => void process.stdout.write(`${line}\n`)
say(`seed ${seed}`)
for (const name of domainPromises) {
  fuzzDomain(name, { seed, runs })
  say(`${runs} times: ${name}`)
}
await fuzzWire({ seed, runs })
say(`${runs} times: both readers of requests make the same of the same bytes`)
// The first runs fill caches. From then on the same vault is fuzzed, which shows what it keeps.
const left = await withFuzzedVault(async fuzz => {
  const meetsAll = runs >= enoughRuns
  await fuzz({ seed, runs: Math.min(runs, enoughRuns), meetsAll })
  return memoryLeftBy(() => fuzz({ seed: seed + 1, runs, meetsAll }))
})
say(`${runs} requests, ${(left / 1_048_576).toFixed(1)} MiB left in memory`)
if (left > leftBytesMax) {
  say(`failed: more than ${leftBytesMax / 1_048_576} MiB`)
  process.exitCode = 1
}
