import { AsyncLocalStorage } from 'node:async_hooks'
import { type Store, StoreUnavailableError } from '../../src/store/port.ts'
import type { Outcome, WriteSet } from '../../src/store/write-set.ts'
import type { Seeded } from '../rig/seeded.ts'

type Call<Owner> = {
  readonly owner: Owner | undefined
  readonly name: string
  readonly args: readonly unknown[]
  readonly run: () => Promise<unknown>
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
}

/** Reported for each write that storage accepted. */
export type Committed<Owner> = { readonly owner: Owner | undefined; readonly set: WriteSet }

/**
 * The store port, except that each call waits until a seeded scheduler carries it out, and some fail: before they
 * reached storage, or after, as if the answer were lost. Each call is attributed to the operation that made it.
 */
export class SimulatedStore<Owner> {
  readonly store: Store
  readonly #owners = new AsyncLocalStorage<Owner>()
  readonly #onCommit: (committed: Committed<Owner>) => void
  readonly #onFault: (owner: Owner | undefined) => void
  #waiting: Call<Owner>[] = []
  #isDead = false

  constructor(
    real: Store,
    on: {
      commit: (committed: Committed<Owner>) => void
      fault: (owner: Owner | undefined) => void
    },
  ) {
    this.#onCommit = on.commit
    this.#onFault = on.fault
    // These are not scheduled: no request waits for them.
    const immediate: readonly (keyof Store)[] = ['grantsEpoch', 'close']
    this.store = Object.fromEntries(
      (Object.keys(real) as (keyof Store)[]).map(name => {
        const method = real[name] as (...args: unknown[]) => Promise<unknown>
        if (immediate.includes(name)) return [name, method]
        return [name, (...args: unknown[]) => this.#wait(name, args, () => method(...args))]
      }),
    ) as unknown as Store
  }

  get waiting(): number {
    return this.#waiting.length
  }

  /** Runs work whose calls are attributed to the owner. */
  by<T>(owner: Owner, work: () => Promise<T>): Promise<T> {
    return this.#owners.run(owner, work)
  }

  /** Waiting calls are never carried out, nor are any that follow. */
  die(): void {
    this.#isDead = true
    this.#waiting = []
  }

  /** Carries out one waiting call, or all waiting commits, which then share a transaction. */
  async step(random: Seeded, faultsPercent: number): Promise<void> {
    const chosen = this.#waiting[random.below(this.#waiting.length)]
    if (chosen === undefined) return
    const together =
      chosen.name === 'commit' && random.below(2) === 0
        ? this.#waiting.filter(({ name }) => name === 'commit')
        : [chosen]
    this.#waiting = this.#waiting.filter(call => !together.includes(call))
    const fates = together.map(() => (random.below(100) < faultsPercent ? random.below(2) : undefined))
    const results = await Promise.allSettled(
      together.map((call, index) => (fates[index] === 0 ? undefined : call.run())),
    )
    together.forEach((call, index) => {
      const result = results[index]!
      const isRefused = fates[index] === 0
      if (!isRefused && call.name === 'commit' && result.status === 'fulfilled')
        if ((result.value as Outcome).committed)
          this.#onCommit({ owner: call.owner, set: call.args[0] as WriteSet })
      if (fates[index] !== undefined) {
        this.#onFault(call.owner)
        call.reject(new StoreUnavailableError('simulated'))
      } else if (result.status === 'fulfilled') call.resolve(result.value)
      else call.reject(result.reason)
    })
  }

  #wait(name: string, args: readonly unknown[], run: () => Promise<unknown>): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (!this.#isDead)
        this.#waiting.push({ owner: this.#owners.getStore(), name, args, run, resolve, reject })
    })
  }
}
