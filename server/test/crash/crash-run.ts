import assert from 'node:assert/strict'
import { Seeded } from '../rig/seeded.ts'
import { temporaryFolder } from '../rig/temporary-folder.ts'
import { Expectations } from './expectations.ts'
import { check, checkStorage, load, type Unanswered } from './load.ts'
import { VaultProcess } from './vault-process.ts'

const answersPerRoundMax = 200

/**
 * Loads a real vault with writes, kills it when a number of them has been answered, starts it again and looks for
 * every answered write; over and over on the same folder. Throws with the seed in the message.
 */
export const crashRun = async (options: {
  seed: number
  rounds: number
  report?: (line: string) => void
}): Promise<void> => {
  const { seed, rounds, report = () => {} } = options
  const folder = temporaryFolder()
  const expectations = new Expectations()
  const random = new Seeded(seed)
  const unanswered = new Map<string, Unanswered>()
  let vault: VaultProcess | undefined
  try {
    for (let round = 1; round <= rounds; round++) {
      vault = await VaultProcess.start(folder.path)
      if (round > 1) await check(vault, expectations)
      const killAfter = random.between(1, answersPerRoundMax)
      const running = vault
      let isDead = false
      const { answered } = await load(
        { vault, expectations, unanswered },
        {
          seed: seed * 1_000 + round,
          round,
          isOver: () => isDead,
          answered: count => {
            if (count !== killAfter) return
            running.signal('SIGKILL')
            isDead = true
          },
        },
      )
      const { stderr } = await vault.ended
      assert.equal(stderr, '', 'the vault logged an error')
      report(`round ${round}: killed after ${answered} answers`)
    }
    vault = await VaultProcess.start(folder.path)
    await check(vault, expectations)
    vault.signal('SIGTERM')
    assert.equal((await vault.ended).code, 0)
    checkStorage(folder.path)
  } catch (error) {
    throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : error}`, { cause: error })
  } finally {
    vault?.signal('SIGKILL')
    await vault?.ended
    folder.remove()
  }
}
