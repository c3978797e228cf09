import assert from 'node:assert/strict'
import { type Program, Site } from '../rig/program.ts'
import { Seeded } from '../rig/seeded.ts'
import { Books } from './books.ts'
import { askAgain } from './carry-out.ts'
import { examineStorage } from './check-storage.ts'
import { compareWithBooks } from './compare-with-books.ts'
import { complaintsOf } from './complaints.ts'
import { Ledger } from './ledger.ts'
import { Load } from './load.ts'
import { configOf, newTenant } from './new-tenant.ts'
import type { Target } from './target.ts'

const workers = 2
const answersBetweenKills = 60

/**
 * Loads a vault with several workers and kills them one after the other while the load goes on. Nothing answered may be
 * lost or doubled, and each killed worker must be replaced. Throws with the seed in the message.
 */
export const workerCrashRun = async (options: {
  seed: number
  kills: number
  report?: (line: string) => void
}): Promise<void> => {
  const { seed, kills, report = () => {} } = options
  const site = new Site()
  const random = new Seeded(seed)
  const ledger = new Ledger(new Books())
  try {
    const program = await site.serve(['--workers', String(workers), '--log-level', 'debug'])
    const config = configOf(site)
    const keys = await newTenant(config)
    const target: Target = {
      keys,
      clockMs: 0,
      isShaken: false,
      urls: [program.url],
      reach: async () => program.url,
    }
    const load = new Load(target, ledger, { seed, round: 1 })
    for (let kill = 0; kill < kills; kill++) {
      await load.answers(random.between(1, answersBetweenKills))
      const worker = 1 + (kill % workers)
      report(`worker ${worker} is killed`)
      // Meanwhile the other workers answer, and then also the replacement.
      await load.while(killWorker(program, worker))
    }
    await load.answers(answersBetweenKills)
    await load.end()
    const { answered, lost } = ledger.counts
    report(`${answered} writes answered, ${lost} answers lost`)
    await askAgain(target, ledger)
    await compareWithBooks(target, ledger)
    const killed = /"signal":"SIGKILL".*"msg":"a worker ended and is replaced"/
    assert.deepEqual(
      complaintsOf(program.stderr).filter(line => !killed.test(line)),
      [],
    )
    program.child.kill('SIGTERM')
    assert.equal((await program.exited).code, 0)
    await examineStorage(config)
  } catch (error) {
    throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : error}`, { cause: error })
  } finally {
    await site.remove()
  }
}

/** Kills the worker with this number, and resolves once a replacement answers in its place. */
const killWorker = async (program: Program, number: number): Promise<void> => {
  const starts = program.stderr
    .split('\n')
    .filter(line => line.endsWith('"msg":"a worker starts"}'))
    .map(line => JSON.parse(line))
    .filter(({ worker }) => worker === number)
  process.kill(Number(starts.at(-1)?.pid), 'SIGKILL')
  const answers = (line: string): boolean => line.includes(`"worker":${number},"msg":"ready"`)
  await program.line('stderr', answers, starts.length + 1)
}
