import { createPrivateKey, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'
import { TamperedError } from '../domain/tampered-error.ts'
import { open, type SealContext, seal } from './aead.ts'
import { type NoteSigner, noteSigner } from './signed-note.ts'

/** The name under which every vault signs; the key tells them apart. */
const origin = 'strongroom'

/** An Ed25519 key in PKCS #8 is this and its 32 bytes (RFC 8410). */
const pkcs8Head = Buffer.from('302e020100300506032b657004220420', 'hex')

/** What the evidence of the log is made with: the key that signs checkpoints, and one that seals how far the trees have grown. */
export type EvidenceKeys = {
  readonly signer: NoteSigner
  /** Storage could otherwise exchange a tree before it grows, and have that signed. */
  sealState(identity: SealContext, state: unknown): Buffer
  /** Throws a TamperedError if it was sealed as something else, or not at all. */
  openState(identity: SealContext, sealed: Uint8Array): unknown
}

export const evidenceKeys = (seed: KeyObject): EvidenceKeys => {
  const bytes = seed.export()
  const der = Buffer.concat([pkcs8Head, bytes])
  const signer = noteSigner(origin, createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }))
  const derived = Buffer.from(hkdfSync('sha256', seed, '', 'strongroom evidence', 32))
  const key = createSecretKey(derived)
  for (const secret of [bytes, der, derived]) secret.fill(0)
  return {
    signer,
    sealState: (identity, state) => seal(key, 1, JSON.stringify(state), ['evidence', ...identity]),
    openState: (identity, sealed) => {
      const text = open(key, sealed, ['evidence', ...identity])
      if (text === undefined) throw new TamperedError({ kind: 'evidence of the log' })
      return JSON.parse(text.toString('utf8'))
    },
  }
}
