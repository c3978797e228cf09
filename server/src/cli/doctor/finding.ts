import type { Config } from '../../config/config.ts'
import type { Machine } from './machine.ts'

export type Finding = {
  readonly check: string
  readonly problem: string
  /** Later checks can tell nothing until this finding is resolved. */
  readonly blocks: boolean
} & Remedy

/** A command to paste, or what to do by hand if no command does it. */
export type Remedy = {
  /** What must be done before. */
  readonly first?: string
} & ({ readonly command: string } | { readonly byHand: string })

/** A problem that doctor has repaired itself. */
export type Repair = Pick<Finding, 'check' | 'problem'>

export type Context = { readonly config: Config; readonly machine: Machine }
/** `notes` are about what is no problem. */
export type Check = (context: Context, notes: string[]) => Promise<Finding[]> | Finding[]
