import { formatInstant, type Instant } from '../domain/time/instant.ts'
import {
  fromBase64,
  isKeyName,
  NoteError,
  type NoteSigner,
  type NoteVerifier,
  openNote,
  signNote,
} from './signed-note.ts'

/**
 * What the vault signs about its log: a C2SP checkpoint (c2sp.org/tlog-checkpoint) of the tree whose leaves are heads. Its text is
 *
 *     <origin>
 *     <size>
 *     <root in base64>
 *     epoch <n>[ <size at which epoch 1 began> … <size at which epoch n began>]
 *     time <RFC 3339>
 *     [end <tenant id>[ <writer>:<first>:<size>]…]
 *
 * and lines that later releases may add. An operator who accepts a rollback begins an epoch. Every later checkpoint says where each
 * epoch began, so that one checkpoint is enough to know which older ones it must continue, and which futures were given up.
 */
export type Checkpoint = {
  readonly origin: string
  readonly size: number
  readonly root: Buffer
  /** The sizes at which the epochs from 1 on began; its length is the epoch. */
  readonly epochStarts: readonly number[]
  readonly time: Instant
  /** Only at the end of an export: which records of the tenant it must have. */
  readonly end?: LogEnd
}

/** What the log of a tenant consists of at a checkpoint, complete: the records `first` to `size` - 1 of each writer. */
export type LogEnd = {
  readonly tenantId: string
  readonly writers: readonly { readonly writer: number; readonly first: number; readonly size: number }[]
}

/** What a head looks like as a leaf of the checkpoints' tree. */
export const headLeaf = (head: { tenantId: string; writer: number; size: number; root: Buffer }): string =>
  `${head.tenantId} ${head.writer} ${head.size} ${head.root.toString('base64')}`

export const signCheckpoint = (checkpoint: Omit<Checkpoint, 'origin'>, signer: NoteSigner): string => {
  const text = checkpointText({ ...checkpoint, origin: signer.name })
  // What reads back as something else, such as a tenant id with a line end in it, must not be signed.
  if (checkpointText(readText(text)) !== text) throw new NoteError('malformed checkpoint')
  return signNote(text, signer)
}

const checkpointText = ({ origin, size, root, epochStarts, time, end }: Checkpoint): string => {
  const lines = [
    origin,
    size,
    root.toString('base64'),
    ['epoch', epochStarts.length, ...epochStarts].join(' '),
    `time ${formatInstant(time)}`,
  ]
  if (end !== undefined)
    lines.push(
      [
        'end',
        end.tenantId,
        ...end.writers.map(({ writer, first, size }) => `${writer}:${first}:${size}`),
      ].join(' '),
    )
  return lines.map(line => `${line}\n`).join('')
}

/** The checkpoint that a note holds. Throws a NoteError if it is none, or not signed with this key. */
export const openCheckpoint = (note: string, verifier: NoteVerifier): Checkpoint => {
  const checkpoint = readText(openNote(note, verifier))
  if (checkpoint.origin !== verifier.name) throw new NoteError('malformed checkpoint')
  return checkpoint
}

const form =
  /^(?<origin>[^\n]+)\n(?<size>\d+)\n(?<root>[\w+/]{43}=)\nepoch (?<epochs>\d+(?: \d+)*)\ntime (?<time>[^\n]+)\n(?:end (?<tenantId>[!-~]+)(?<writers>(?: \d+:\d+:\d+)*)\n)?(?!end )(?:(?!end |epoch |time )[^\n]+\n)*$/u

const readText = (text: string): Checkpoint => {
  const {
    origin = '',
    size = '',
    root = '',
    epochs = '',
    time = '',
    tenantId,
    writers = '',
  } = form.exec(text)?.groups ?? {}
  const [epoch, ...epochStarts] = epochs.split(' ').map(readNumber)
  const checkpoint = {
    origin,
    size: readNumber(size),
    root: fromBase64(root),
    epochStarts,
    time: Date.parse(time),
    ...(tenantId !== undefined && { end: { tenantId, writers: readWriters(writers) } }),
  }
  if (
    !isKeyName(origin) ||
    !isWhole(checkpoint) ||
    epoch !== epochStarts.length ||
    epochStarts.some(start => start > checkpoint.size) ||
    Number.isNaN(checkpoint.time) ||
    formatInstant(checkpoint.time) !== time
  )
    throw new NoteError('malformed checkpoint')
  return checkpoint
}

const isWhole = <T extends { root: Buffer | undefined }>(value: T): value is T & { root: Buffer } =>
  value.root !== undefined

/** Only digits, no leading zero, and no more than a number can hold. */
const readNumber = (text: string): number => {
  const value = Number(text)
  if (String(value) !== text || !Number.isSafeInteger(value) || value < 0)
    throw new NoteError('malformed checkpoint')
  return value
}

const readWriters = (text: string): LogEnd['writers'] => {
  const writers = text
    .split(' ')
    .slice(1)
    .map(part => {
      const [writer = 0, first = 0, size = 0] = part.split(':').map(readNumber)
      return { writer, first, size }
    })
  const isOrdered = writers.every(
    ({ writer, first, size }, at) => first <= size && writer > (writers[at - 1]?.writer ?? -1),
  )
  if (!isOrdered) throw new NoteError('malformed checkpoint')
  return writers
}
