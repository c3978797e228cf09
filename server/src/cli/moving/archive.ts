import type { Decrypter } from 'age-encryption'
import { ConfigError } from '../../config/config-error.ts'
import { isOpenToOthers, readNamedFile } from '../../config/named-file.ts'
import { shellWord } from '../../domain/text/terminal.ts'
import type { Invocation } from '../command.ts'
import { typedSecret } from './typed.ts'

// Archives are files in the format age (age-encryption.org/v1). Its package is loaded by who needs it alone.

const passphraseCharactersMin = 12

/** How archives begin. */
export const archiveMagic = 'age-encryption.org/v1\n'

export type Seal = (plain: AsyncIterable<Uint8Array>) => Promise<AsyncIterable<Uint8Array>>

/** What seals an archive; undefined if it is to be written in the clear. Checked before anything is read from the vault. */
export const chosenSeal = async ({ options, flags }: Invocation): Promise<Seal | undefined> => {
  const { recipient, 'passphrase-file': file } = options
  const ways = [
    recipient !== undefined,
    file !== undefined,
    flags.passphrase === true,
    flags.plaintext === true,
  ]
  if (ways.filter(Boolean).length !== 1)
    throw new ConfigError(
      'say how the archive is sealed, in one way: --recipient age1…, --passphrase or --passphrase-file; or --plaintext',
    )
  if (flags.plaintext === true) return undefined
  const { Encrypter } = await import('age-encryption')
  const encrypter = new Encrypter()
  if (recipient === undefined) encrypter.setPassphrase(await newPassphrase(file))
  else for (const each of recipient.split(',')) addRecipient(encrypter, each.trim())
  return async plain => encrypter.encrypt(ReadableStream.from(plain))
}

const addRecipient = (encrypter: { addRecipient(text: string): void }, recipient: string): void => {
  try {
    encrypter.addRecipient(recipient)
  } catch {
    throw new ConfigError('--recipient must be public keys of age (age1…), separated by commas')
  }
}

const newPassphrase = async (file: string | undefined): Promise<string> => {
  const passphrase = file === undefined ? await typedSecret('passphrase: ') : passphraseIn(file)
  if (passphrase.length < passphraseCharactersMin)
    throw new ConfigError(
      `the passphrase must have at least ${passphraseCharactersMin} characters: whoever gets the archive can try any number`,
    )
  if (file === undefined && (await typedSecret('the same again: ')) !== passphrase)
    throw new ConfigError('the passphrases differ')
  return passphrase
}

const passphraseIn = (file: string): string => secretFile(file).split(/\r?\n/, 1)[0] ?? ''

const secretFile = (file: string): string => {
  const text = readNamedFile(file)
  if (isOpenToOthers(file))
    throw new ConfigError(`${file} holds a secret and is open to others: run chmod 600 ${shellWord(file)}`)
  return text
}

export class ArchiveError extends Error {}

/** Opens an archive with what the options name. A part of it that was changed, or is missing, ends the reading with an error. */
export const openArchive = async (
  sealed: AsyncIterable<Uint8Array>,
  { options }: Invocation,
): Promise<AsyncIterable<Uint8Array>> => {
  const { Decrypter } = await import('age-encryption')
  const decrypter = new Decrypter()
  const { identity, 'passphrase-file': file } = options
  if (identity !== undefined) addIdentities(decrypter, identity)
  else if (file === undefined && !process.stdin.isTTY)
    throw new ConfigError('the file is a sealed archive: add --identity or --passphrase-file')
  else
    decrypter.addPassphrase(
      file === undefined ? await typedSecret('passphrase of the archive: ') : passphraseIn(file),
    )
  try {
    return authentic(await decrypter.decrypt(ReadableStream.from(sealed)))
  } catch (error) {
    throw new ArchiveError(
      'the archive does not open: it was sealed under another key or passphrase, or is damaged',
      { cause: error },
    )
  }
}

const addIdentities = (decrypter: Decrypter, file: string): void => {
  const lines = secretFile(file)
    .split(/\r?\n/)
    .filter(line => line !== '' && !line.startsWith('#'))
  if (lines.length === 0) throw new ConfigError(`${file} holds no identity of age (AGE-SECRET-KEY-1…)`)
  for (const line of lines)
    try {
      decrypter.addIdentity(line)
    } catch {
      throw new ConfigError(`${file} must hold identities of age (AGE-SECRET-KEY-1…), one per line`)
    }
}

async function* authentic(opened: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const pieces = opened[Symbol.asyncIterator]()
  for (;;) {
    const next = await pieces.next().catch((error: unknown) => {
      throw new ArchiveError('the archive was cut off or changed; what was read before is genuine', {
        cause: error,
      })
    })
    if (next.done) return
    yield next.value
  }
}
