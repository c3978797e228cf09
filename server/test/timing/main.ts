import { parseArgs } from 'node:util'
import { Seeded } from '../rig/seeded.ts'
import { TestVault } from '../rig/test-vault.ts'
import { prepareLookAlikes } from './look-alikes.ts'

/**
 * `npm run test:timing -- --seed N --samples N`: how long look-alikes take, requested in random order. Their medians
 * must differ by less than one in a hundred; needs a machine that does little else.
 */
const { values } = parseArgs({
  options: { seed: { type: 'string' }, samples: { type: 'string', default: '20000' } },
})
const seed = Number(values.seed ?? Date.now() % 1_000_000)
const samples = Number(values.samples)
const differenceMax = 0.01
const say = (line: string): void => void process.stdout.write(`${line}\n`)
say(`seed ${seed}`)
const vault = await TestVault.start()
const random = new Seeded(seed)
const median = (times: number[]): number => times.sort((a, b) => a - b)[times.length >> 1] ?? 0

for (const { name, kinds } of await prepareLookAlikes(vault, 2_000)) {
  const times: [number[], number[]] = [[], []]
  for (let sample = 0; sample < samples * 2 + 2_000; sample++) {
    const which = random.below(2) as 0 | 1
    const { path, key, body } = kinds[which].next()
    const started = performance.now()
    const asked =
      body === undefined
        ? { headers: { 'svc-api-key': key } }
        : {
            method: 'POST',
            headers: { 'svc-api-key': key, 'content-type': 'application/json' },
            body: JSON.stringify(body),
          }
    await (await fetch(vault.baseUrl + path, asked)).arrayBuffer()
    // The first requests run before anything is compiled.
    if (sample > 2_000) times[which].push(performance.now() - started)
  }
  const [one, other] = times.map(median) as [number, number]
  const difference = Math.abs(one - other) / Math.min(one, other)
  const figures = kinds.map((kind, index) => `${kind.name} ${(index === 0 ? one : other).toFixed(4)} ms`)
  say(`${name}: ${figures.join(', ')}: ${(difference * 100).toFixed(2)} %`)
  if (difference > differenceMax) {
    say(`failed: ${name} differ by more than ${differenceMax * 100} %`)
    process.exitCode = 1
  }
}
await vault.stop()
