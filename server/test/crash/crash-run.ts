import { Seeded } from '../rig/seeded.ts'
import { Books } from './books.ts'
import { type Death, deathsOf, type Scene } from './deaths.ts'
import { type EngineName, Fleet } from './fleet.ts'
import { askAgain, Ledger } from './load.ts'
import { look } from './look.ts'

export type CrashOptions = {
  readonly engine: EngineName
  readonly nodes: number
  readonly seed: number
  readonly rounds: number
  /** Only this way to die, or these in turn; absent: all of the engine. */
  readonly deaths?: readonly string[]
  readonly report?: (line: string) => void
}

/**
 * Loads a real vault with every kind of write, kills its nodes and its database, starts them again and looks for every
 * answered write; over and over on the same storage. Throws with what repeats the run in the message.
 */
export const crashRun = async (options: CrashOptions): Promise<void> => {
  const { engine, nodes, seed, rounds, report = () => {} } = options
  const fleet = await Fleet.open({ engine, nodes })
  const ledger = new Ledger(new Books())
  const random = new Seeded(seed)
  const deaths = deathsOf(engine, options.deaths)
  let death: Death | undefined
  try {
    for (let round = 1; round <= rounds; round++) {
      death = deaths[(round - 1) % deaths.length]
      if (death === undefined) throw new Error('nothing to die of')
      const scene: Scene = { fleet, ledger, random, seed: seed * 1_000 + round, round }
      const told = await death.happen(scene)
      await fleet.startAll()
      await look(fleet, ledger)
      await fleet.examine()
      fleet.isShaken = false
      const { answered, lost, repeated } = ledger.counts
      report(
        `round ${round}: ${told}; so far ${answered} writes answered, ${lost} answers lost, ${repeated} told again`,
      )
    }
    const again = await askAgain(fleet, ledger)
    await look(fleet, ledger)
    await fleet.examine()
    await fleet.stop()
    report(`${again} writes without an answer were asked for again at the end`)
  } catch (error) {
    const what = error instanceof Error ? error.message : error
    const replay = `--engine ${engine} --nodes ${nodes} --seed ${seed} --rounds ${rounds}`
    throw new Error(`seed ${seed}: ${what} (${death?.name ?? 'start'}; ${replay})`, { cause: error })
  } finally {
    await fleet.remove()
  }
}
