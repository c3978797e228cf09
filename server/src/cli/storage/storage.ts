import type { Store } from '../../store/port.ts'
import type { Inspection } from '../../store/sql/inspection.ts'
import type { SchemaDifference } from '../../store/sql/migration.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import type { StorageDoctor } from '../doctor/storage-doctor.ts'
import type { WorkerContext } from '../workers/worker.ts'

/** What the workers of one server share. */
export type Sharing = Pick<WorkerContext, 'writer' | 'neighbours'>

/** Whether a worker is the first of its server to open storage, or a later one. */
export type Joining = Sharing & Pick<WorkerContext, 'isFirst'>

export type CommandWrites = 'little' | 'much'

/** Where the vault's rows are: in a folder of this machine, or on a database server. */
export type Storage = {
  /** For people: the folder, or the address of the database without its password. */
  readonly name: string
  /** As flags, without any secret. */
  readonly flags: Readonly<Record<string, string>>
  /** Reads what is there without changing it. Undefined if there is no vault. Throws if what is there cannot be one. */
  inspect(): Promise<Inspection | undefined>
  /** How the schema differs from what the migrations make, in words. */
  compareSchema(): Promise<SchemaDifference>
  /**
   * Makes the vault if there is none, and brings its schema up to date. Callers must inspect the storage first. A worker shares
   * what can exist only once: the writer, if the storage accepts one.
   */
  open(telemetry: Telemetry, worker?: Sharing): Promise<Store>
  /** The same for one command. Unless it writes much, it does so on its own thread: starting another takes longer than all its writes. */
  openForCommand(writes?: CommandWrites): Promise<Store>
  /** Brings the schema up to date and spreads it over the nodes of a cluster. */
  distribute(): Promise<void>
  readonly doctor: StorageDoctor
}
