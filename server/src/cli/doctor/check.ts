import type { Config } from '../../config/config.ts'
import type { Finding } from './finding.ts'
import type { Machine } from './machine.ts'

export type Context = { readonly config: Config; readonly machine: Machine }
export type Check = (context: Context) => Promise<Finding[]> | Finding[]
