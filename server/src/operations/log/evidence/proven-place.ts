import { invalid } from '../../../domain/errors.ts'
import { TamperedError } from '../../../domain/tampered-error.ts'
import type { Vault } from '../../vault/vault.ts'
import type { LogOwner } from '../log-owner.ts'
import type { ProvenPlace } from './proven-stages.ts'

/** Sealed with a key of the vault's, because the log outlives its tenant. */
export const sealPlace = (
  { evidence }: Pick<Vault, 'evidence'>,
  { keys: { tenantId } }: LogOwner,
  { checkpoint, told }: ProvenPlace,
): string =>
  evidence.keys
    .sealState(['cursor', tenantId], {
      size: checkpoint.size,
      root: checkpoint.root.toString('base64'),
      told: [...told],
    } satisfies StoredPlace)
    .toString('base64url')

type StoredPlace = { size: number; root: string; told: [number, number][] }

/** Throws 400 if it is no cursor of this log. */
export const openPlace = (
  { evidence }: Pick<Vault, 'evidence'>,
  { keys: { tenantId } }: LogOwner,
  text: string,
): ProvenPlace => {
  const sealed = Buffer.from(text, 'base64url')
  try {
    // The decoder skips characters it does not know.
    if (sealed.toString('base64url') !== text) throw new TamperedError({ kind: 'cursor' })
    const { size, root, told } = evidence.keys.openState(['cursor', tenantId], sealed) as StoredPlace
    return { checkpoint: { size, root: Buffer.from(root, 'base64') }, told: new Map(told) }
  } catch (error) {
    if (!(error instanceof TamperedError)) throw error
    throw invalid({ path: 'start', message: 'is not a cursor of this log; start again without it' })
  }
}
