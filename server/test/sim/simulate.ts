import { Seeded } from '../rig/seeded.ts'
import { makeRound, type Round } from './requests.ts'
import { Simulation } from './simulation.ts'

export type Run = {
  readonly seed: number
  /** How many storage calls to carry out; the round then under way is finished. */
  readonly steps: number
}

export type Failure = { readonly error: unknown; readonly rounds: readonly Round[] }

/** Runs the rounds that follow from the seed. Returns what was done, and what failed. */
export const simulate = async ({ seed, steps }: Run): Promise<{ steps: number; failure?: Failure }> => {
  const random = new Seeded(seed)
  const rounds: Round[] = []
  const simulation = await Simulation.start()
  try {
    while (simulation.steps < steps) {
      const round = makeRound(random)
      rounds.push(round)
      await simulation.run(round)
    }
    return { steps: simulation.steps }
  } catch (error) {
    return { steps: simulation.steps, failure: { error, rounds } }
  } finally {
    await simulation.stop()
  }
}

/** Runs exactly these rounds; undefined if nothing fails. */
export const replay = async (rounds: readonly Round[]): Promise<unknown> => {
  const simulation = await Simulation.start()
  try {
    for (const round of rounds) await simulation.run(round)
    return undefined
  } catch (error) {
    return error
  } finally {
    await simulation.stop()
  }
}

const replaysMax = 400

/** Searches for fewer rounds, with fewer requests, that still fail. */
export const shrink = async ({ rounds, error }: Failure): Promise<Failure> => {
  let smallest: Failure = { rounds, error }
  let replays = 0
  const tryWith = async (candidate: readonly Round[]): Promise<boolean> => {
    if (++replays > replaysMax) return false
    const failed = await replay(candidate)
    if (failed === undefined) return false
    smallest = { rounds: candidate, error: failed }
    return true
  }
  for (let size = Math.ceil(rounds.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2))
    for (let at = smallest.rounds.length - size; at > -size; at -= size) {
      const kept = smallest.rounds.filter((_, index) => index < at || index >= at + size)
      await tryWith(kept)
    }
  for (let at = smallest.rounds.length - 1; at >= 0; at--)
    for (const simpler of simplerRounds(smallest.rounds[at]!))
      await tryWith(smallest.rounds.with(at, simpler))
  return smallest
}

const simplerRounds = (round: Round): Round[] => {
  const { diesAfter: _dies, ...living } = round
  return [
    { ...living, faultsPercent: 0 },
    ...round.requests.map((_, index) => ({ ...round, requests: round.requests.toSpliced(index, 1) })),
  ].filter(simpler => simpler.requests.length > 0)
}
