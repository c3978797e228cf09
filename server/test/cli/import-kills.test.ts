import { describe, test } from 'node:test'
import { killRun } from '../import/kill-run.ts'
import { inShortRun } from '../rig/long-run.ts'
import { emptyDatabase } from '../rig/postgres-databases.ts'

// `npm run test:import` goes on for longer.
describe('an import that is killed', () => {
  test(
    'is resumed by the same command, without a missing or doubled token (sqlite) (L1)',
    {
      skip: inShortRun,
    },
    () => killRun({ tokens: 2_000, kills: 2, seed: 1 }),
  )

  test('is resumed by the same command, without a missing or doubled token (postgres) (L1)', {
    skip: inShortRun,
  }, async () => {
    const database = await emptyDatabase()
    try {
      await killRun({ tokens: 2_000, kills: 2, seed: 2, databaseUrl: database.url })
    } finally {
      await database.drop()
    }
  })
})
