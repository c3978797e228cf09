import { describe, test } from 'node:test'
import { inShortRun } from '../rig/long-run.ts'
import { crashRun } from './crash-run.ts'
import { workerCrashRun } from './worker-crash-run.ts'

// Real processes, a few kills of each kind; `npm run test:crash` goes on for longer.
describe('a vault that is killed', () => {
  for (const { engine, nodes, seed, plans } of [
    { engine: 'sqlite', nodes: 1, seed: 51, plans: ['after-commit', 'after-commit', 'in-sweeper'] },
    { engine: 'postgres', nodes: 3, seed: 9, plans: ['node-then-database'] },
  ] as const)
    test(
      `has every write it answered, exactly once, and no other write in part (${engine}) (C23.5, C27.1, C32.3, C33.5, C33.6)`,
      {
        skip: engine === 'postgres' && inShortRun,
      },
      () => crashRun({ engine, nodes, workers: 1, seed, plans, rounds: plans.length }),
    )

  test(
    'finds by itself the standby that took over, stays with it when the former primary is back, and neither loses nor repeats anything (postgres) (C2.23, C27.1, C33.5, C33.6)',
    {
      skip: inShortRun,
    },
    () => crashRun({ engine: 'postgres', nodes: 1, workers: 1, seed: 5, plans: ['failover'], rounds: 1 }),
  )

  test(
    'carries on when its workers are killed one by one, and neither loses nor repeats anything (sqlite) (C23.5, C24.10, C27.1, C33.5, C33.6)',
    {
      skip: inShortRun,
    },
    () => workerCrashRun({ seed: 3, kills: 1 }),
  )
})
