import assert from 'node:assert/strict'
import { Site } from '../cli/program.ts'
import { Seeded } from '../rig/seeded.ts'
import { Expectations } from './expectations.ts'
import { check, checkStorage, load, type Unanswered } from './load.ts'
import { VaultWorkers } from './vault-process.ts'

const workers = 3
const answersBetweenKills = 60

/**
 * Loads a vault of several workers and kills one of them after the other, while the load goes on. Nothing that was
 * answered may be lost, nothing doubled, and each one killed must be replaced. Throws with the seed in the message.
 */
export const workerCrashRun = async (options: {
  seed: number
  kills: number
  report?: (line: string) => void
}): Promise<void> => {
  const { seed, kills, report = () => {} } = options
  const site = new Site()
  const random = new Seeded(seed)
  const expectations = new Expectations()
  try {
    const vault = await VaultWorkers.start(site, workers)
    const answers = new Answers()
    /** One at a time: the answers that follow come from the others, and then from the one in its place. */
    const killOneByOne = async (): Promise<void> => {
      for (let kill = 0; kill < kills; kill++) {
        await answers.now(random.between(1, answersBetweenKills))
        const worker = 1 + (kill % workers)
        report(`worker ${worker} is killed`)
        await vault.kill(worker)
      }
      await answers.now(answersBetweenKills)
    }
    let isOver = false
    const killing = killOneByOne().finally(() => {
      isOver = true
    })
    const { answered, cut } = await load(
      { vault, expectations, unanswered: new Map<string, Unanswered>() },
      { seed, round: 1, isOver: () => isOver, answered: count => answers.reached(count) },
    )
    await killing
    report(`${answered} writes answered, ${cut} cut off`)
    await check(vault, expectations)
    assert.deepEqual(vault.complaints(), [])
    assert.equal((await vault.stop()).code, 0)
    checkStorage(site.data)
  } catch (error) {
    throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : error}`, { cause: error })
  } finally {
    await site.remove()
  }
}

/** Waits for so many answers more. */
class Answers {
  #count = 0
  #awaited: { count: number; reached: () => void } | undefined

  now(more: number): Promise<void> {
    return new Promise(reached => {
      this.#awaited = { count: this.#count + more, reached }
    })
  }

  reached(count: number): void {
    this.#count = count
    if (this.#awaited !== undefined && count >= this.#awaited.count) this.#awaited.reached()
  }
}
