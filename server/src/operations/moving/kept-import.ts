import { createHash } from 'node:crypto'
import { openReport, sealReport } from '../../crypto/data-seal.ts'
import { indexHash } from '../../crypto/keyed-hashes.ts'
import { parseStored } from '../../domain/json/parse-json.ts'
import type { GuardedChange } from '../../store/write-set.ts'
import { sealsCounter } from '../vault/counters.ts'
import type { UnlockedTenant, Vault } from '../vault/vault.ts'
import { type Changes, commitSet, ReportChangedError } from '../writing/commit.ts'

/** How far an import has come. It is kept in the vault, and moves in the same write set as the tokens of each batch. */
export type ImportState = {
  /** How the file was read: its form and mapping. */
  readonly form: string
  /** So many bytes are done with. */
  readonly end: number
  /** What this many bytes were, which is at least as many. */
  readonly digested: number
  readonly digest: string
  /** The line of the last row. */
  readonly line: number
  readonly imported: number
  /** Of those imported: how many stood for a token that there was. */
  readonly deduplicated: number
  readonly rejected: number
  /** How long the file of rejected rows is. */
  readonly rejectedBytes: number
  readonly isDone: boolean
}

export const newImport = (form: string): ImportState => ({
  form,
  end: 0,
  digested: 0,
  digest: createHash('sha256').digest('base64'),
  line: 0,
  imported: 0,
  deduplicated: 0,
  rejected: 0,
  rejectedBytes: 0,
  isDone: false,
})

export type KeptImport = {
  readonly name: string
  /** As it is stored; null if it is not yet. */
  readonly sealed: Uint8Array | null
  readonly state: ImportState | undefined
}

/** The name under which an import is kept: it says nothing about the file to whoever holds storage. */
export const importName = ({ keys }: UnlockedTenant, fileIs: string): string =>
  `import:${indexHash(keys, 'import', fileIs).toString('hex')}`

export const loadImport = async (vault: Vault, tenant: UnlockedTenant, name: string): Promise<KeptImport> => {
  const sealed = await vault.store.getReport(tenant.tenantNumber, name)
  if (sealed === undefined) return { name, sealed: null, state: undefined }
  const state = parseStored(openReport(tenant.keys, name, sealed)) as unknown as ImportState
  return { name, sealed, state }
}

/** What replaces the kept state by this one, unless another run has replaced it meanwhile. */
export const replacing = (
  { keys }: UnlockedTenant,
  { name, sealed: ifSealed }: KeptImport,
  state: ImportState,
): { readonly kept: KeptImport; readonly changes: Pick<Changes, 'guarded' | 'counters'> } => {
  const sealed = sealReport(keys, name, JSON.stringify(state))
  const change: GuardedChange = { kind: 'replaceReport', name, sealed, ifSealed }
  return {
    kept: { name, sealed, state },
    changes: { guarded: [change], counters: [{ name: sealsCounter(keys.currentDataVersion), by: 1 }] },
  }
}

/** Replaces the kept state alone, which is bookkeeping and no act. */
export const commitState = async (
  vault: Vault,
  { tenantNumber: tenant }: UnlockedTenant,
  changes: Pick<Changes, 'guarded' | 'counters'>,
): Promise<void> => {
  const outcome = await commitSet(vault, { tenant, ...changes, effects: [], log: null })
  if (!outcome.committed) throw new ReportChangedError()
}
