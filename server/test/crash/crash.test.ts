import { describe, test } from 'node:test'
import { crashRun } from './crash-run.ts'
import { workerCrashRun } from './worker-crash-run.ts'

// A real process on the engine that `strongroom dev` brings; `npm run test:crash` runs it for longer.
describe('a vault that is killed (sqlite)', () => {
  test('C27.1 C23.5 C33.5 C33.6 C24.10 has every write that it answered, and no other one in part', async () => {
    const seed = Date.now() % 1_000_000
    await crashRun({ seed, rounds: 3 })
  })

  test('C27.1 C23.5 C33.4 C33.5 C33.6 C24.10 goes on when its workers are killed one by one, and loses and doubles nothing', async () => {
    const seed = Date.now() % 1_000_000
    await workerCrashRun({ seed, kills: 2 })
  })
})
