import type { Config } from '../../config/config.ts'
import type { Machine } from './machine.ts'

export type Finding = {
  readonly check: string
  readonly problem: string
  /** Later checks can tell nothing while this finding stands. */
  readonly blocks: boolean
} & Remedy

/** A command to paste, or what to do by hand if no command would do it. */
export type Remedy = {
  /** What must be done before. */
  readonly first?: string
} & ({ readonly command: string } | { readonly byHand: string })

/** A problem that doctor has repaired itself. */
export type Repair = Pick<Finding, 'check' | 'problem'>

export type Context = { readonly config: Config; readonly machine: Machine }
export type Check = (context: Context) => Promise<Finding[]> | Finding[]
