import type { Config } from '../../config/config.ts'
import type { KeyProvider } from '../../keys/key-provider.ts'
import type { Finding } from '../doctor/finding.ts'

/** What differs between the places where a master key may be. */
export type KeyProviderKind = {
  /** Throws ConfigError if the settings lack what it needs. */
  open(config: Config): KeyProvider
  /** The file that a rotation of the master key changes; throws ConfigError if there is none. */
  requireMasterKeyFile(config: Config): string
  /** Master keys that a rotation has taken out and that can still be read. */
  retired(config: Config): RetiredKeys | undefined
  /** What is left to do once storage needs no master key but the first. */
  endRotation(config: Config): Finding[]
  /** What to do about a master key that is missing, closed to this user, or not the vault's. */
  repair(config: Config, problem: string): Finding
}

export type RetiredKeys = {
  /** Opens also what they have wrapped. */
  readonly provider: KeyProvider
  /** Advises to bring them back for so many keys in storage. */
  bringBack(count: number): Finding
}

/** The start of a command, to be filled in by whoever pastes it. */
export const keyBackup = 'backup=/path/to/your/master.key'
