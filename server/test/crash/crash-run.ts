import { Seeded } from '../rig/seeded.ts'
import { Books } from './books.ts'
import { askAgain } from './carry-out.ts'
import { checkPartner, untilAllIsTold } from './check-partner.ts'
import { compareWithBooks } from './compare-with-books.ts'
import { Fleet, type FleetOptions } from './fleet.ts'
import { type KillPlan, killPlansOf, type Scene } from './kill-plans.ts'
import { Ledger } from './ledger.ts'

export type CrashOptions = FleetOptions & {
  readonly seed: number
  readonly rounds: number
  /** Kill plans, in turn; if absent, all of them. */
  readonly plans?: readonly string[]
  readonly report?: (line: string) => void
}

/**
 * Loads a real vault with every kind of write, kills its nodes and its database, starts them again and looks for every
 * answered write, over and over on the same storage. The error it throws tells how to repeat the run.
 */
export const crashRun = async (options: CrashOptions): Promise<void> => {
  const { seed, rounds, report = () => {} } = options
  const fleet = await Fleet.open(options)
  const ledger = new Ledger(new Books())
  const random = new Seeded(seed)
  const plans = killPlansOf(options, options.plans)
  let plan: KillPlan | undefined
  try {
    for (let round = 1; round <= rounds; round++) {
      plan = plans[(round - 1) % plans.length]
      if (plan === undefined) throw new Error('no kill plan fits')
      const scene: Scene = { fleet, ledger, random, seed: seed * 1_000 + round, round }
      const told = await plan.happen(scene)
      await fleet.startAll()
      await holdAgainstBooks(fleet, ledger)
      fleet.calmDown()
      const { answered, lost, repeated, revealed, charged } = ledger.counts
      report(
        `round ${round}: ${told}; so far ${answered} writes answered, ${revealed} tokens revealed, ${charged} sent to the partner, ${lost} answers lost, ${repeated} told again`,
      )
    }
    const again = await askAgain(fleet, ledger)
    if (again > 0) await holdAgainstBooks(fleet, ledger)
    const told = await untilAllIsTold(fleet, ledger)
    await fleet.stop()
    report(`${again} writes without an answer were asked for again at the end; ${told}`)
  } catch (error) {
    const what = error instanceof Error ? error.message : error
    throw new Error(`seed ${seed}: ${what} (${plan?.name ?? 'at start'}; ${replayOf(options)})`, {
      cause: error,
    })
  } finally {
    await fleet.remove()
  }
}

const holdAgainstBooks = async (fleet: Fleet, ledger: Ledger): Promise<void> => {
  await compareWithBooks(fleet, ledger)
  await checkPartner(fleet, ledger)
  await fleet.examine()
}

/** The command-line options that repeat the run. */
export const replayOf = ({ engine, nodes, workers, seed, rounds, plans = [] }: CrashOptions): string => {
  const points = plans.map(plan => ` --point ${plan}`).join('')
  return `--engine ${engine} --nodes ${nodes} --workers ${workers} --seed ${seed} --rounds ${rounds}${points}`
}
