import { createPublicKey, hash, type KeyObject, sign, verify } from 'node:crypto'

// C2SP signed notes (c2sp.org/signed-note) with Ed25519: a text of whole lines, a blank line, and a line for each signature.

/** Whoever reads a note is told why it does not hold, and never what it says. */
export class NoteError extends Error {
  constructor(
    message:
      | 'malformed note'
      | 'malformed verifier key'
      | 'the note is not signed with this key'
      | 'the signature does not belong to this note'
      | 'malformed checkpoint',
  ) {
    super(message)
    this.name = 'NoteError'
  }
}

/** The name under which a key signs; of a checkpoint also its origin. */
export const isKeyName = (name: string): boolean =>
  name.isWellFormed() && name.length > 0 && !/[\s\p{Cc}+]/u.test(name)

export type NoteVerifier = {
  readonly name: string
  /** Four bytes that tell keys of the same name apart. */
  readonly keyId: Buffer
  readonly publicKey: KeyObject
}

export type NoteSigner = NoteVerifier & { readonly privateKey: KeyObject }

const algorithm = Buffer.of(1)
const keyBytes = 32
const keyIdBytes = 4
const signatureBytes = 64

export const noteSigner = (name: string, privateKey: KeyObject): NoteSigner => {
  const publicKey = createPublicKey(privateKey)
  if (!isKeyName(name) || publicKey.asymmetricKeyType !== 'ed25519')
    throw new Error('a note is signed with an Ed25519 key that has a name without spaces and plus signs')
  return { name, privateKey, publicKey, keyId: keyIdOf(name, rawKey(publicKey)) }
}

const rawKey = (publicKey: KeyObject): Buffer =>
  Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url')

const keyIdOf = (name: string, raw: Buffer): Buffer =>
  hash('sha256', Buffer.concat([Buffer.from(`${name}\n`), algorithm, raw]), 'buffer').subarray(0, keyIdBytes)

/** The text by which a key is handed to those who verify: `<name>+<key id>+<key>`. */
export const verifierKeyText = ({ name, keyId, publicKey }: NoteVerifier): string =>
  `${name}+${keyId.toString('hex')}+${Buffer.concat([algorithm, rawKey(publicKey)]).toString('base64')}`

export const readVerifierKey = (text: string): NoteVerifier => {
  const [, name = '', id, base64 = ''] = /^([^+]+)\+([0-9a-f]{8})\+([\w+/=]+)$/su.exec(text) ?? []
  const key = fromBase64(base64)
  if (!isKeyName(name) || key?.length !== 1 + keyBytes || key[0] !== algorithm[0])
    throw new NoteError('malformed verifier key')
  const raw = key.subarray(1)
  const keyId = keyIdOf(name, raw)
  if (keyId.toString('hex') !== id) throw new NoteError('malformed verifier key')
  return { name, keyId, publicKey: keyFromRaw(raw) }
}

const keyFromRaw = (raw: Buffer): KeyObject =>
  createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: raw.toString('base64url') }, format: 'jwk' })

/** Standard base64 in the one form that its bytes have, or undefined: Node's decoder skips what it does not know. */
export const fromBase64 = (text: string): Buffer | undefined => {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : undefined
}

const isNoteText = (text: string): boolean =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there.
  text.isWellFormed() && text.endsWith('\n') && !/[\0-\x09\x0b-\x1f]/.test(text)

export const signNote = (text: string, { name, keyId, privateKey }: NoteSigner): string => {
  if (!isNoteText(text)) throw new NoteError('malformed note')
  const signature = Buffer.concat([keyId, sign(null, Buffer.from(text), privateKey)])
  return `${text}\n— ${name} ${signature.toString('base64')}\n`
}

/** The same bound as Go's: a note must not make its reader work for ever. */
const signaturesMax = 100

/** The text of a note that this key has signed. Signatures with other keys, as of witnesses, are passed over. */
export const openNote = (note: string, verifier: NoteVerifier): string => {
  const split = note.lastIndexOf('\n\n')
  const text = note.slice(0, split + 1)
  const lines = note.slice(split + 2).split('\n')
  if (
    split < 0 ||
    !isNoteText(note) ||
    lines.pop() !== '' ||
    lines.length === 0 ||
    lines.length > signaturesMax
  )
    throw new NoteError('malformed note')
  const signatures = lines.map(readSignature)
  const ours = signatures.filter(({ name, keyId }) => name === verifier.name && keyId.equals(verifier.keyId))
  if (ours.length === 0) throw new NoteError('the note is not signed with this key')
  const bytes = Buffer.from(text)
  for (const { signature } of ours)
    if (signature.length !== signatureBytes || !verify(null, bytes, verifier.publicKey, signature))
      throw new NoteError('the signature does not belong to this note')
  return text
}

type Signature = { readonly name: string; readonly keyId: Buffer; readonly signature: Buffer }

const readSignature = (line: string): Signature => {
  const [, name = '', base64 = ''] = /^— (\S+) (\S+)$/u.exec(line) ?? []
  const bytes = fromBase64(base64)
  if (!isKeyName(name) || bytes === undefined || bytes.length <= keyIdBytes)
    throw new NoteError('malformed note')
  return { name, keyId: bytes.subarray(0, keyIdBytes), signature: bytes.subarray(keyIdBytes) }
}
