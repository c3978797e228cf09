import type { Config } from '../../config/config.ts'
import type { KeyProvider } from '../../keys/key-provider.ts'
import type { Finding } from '../doctor/finding.ts'

/** What differs between the possible sources of a master key. */
export type KeyProviderKind = {
  /** Throws ConfigError if the settings are incomplete. */
  open(config: Config): KeyProvider
  /** The file that a rotation of the master key changes. Throws ConfigError if there is none. */
  requireMasterKeyFile(config: Config): string
  /** Master keys that a rotation has taken out and that can still be read. */
  retired(config: Config): RetiredKeys | undefined
  /** What is left to do once storage needs no master key but the first. */
  endRotation(config: Config): Finding[]
  /** What to do about a master key that is missing, closed to this user, or not the vault's. */
  repair(config: Config, problem: string): Finding
}

export type RetiredKeys = {
  /** Also opens what they have wrapped. */
  readonly provider: KeyProvider
  /** Advice to bring them back for this many keys in storage. */
  bringBack(count: number): Finding
}

/** The start of a command that the reader completes. */
export const keyBackup = 'backup=/path/to/your/master.key'
