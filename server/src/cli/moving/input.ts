import { createHash } from 'node:crypto'
import { createReadStream, statSync } from 'node:fs'
import { ConfigError, unreadable } from '../../config/config-error.ts'
import { archiveMagic } from './archive.ts'

const headBytes = 1 << 16
const chunkBytes = 1 << 18

/** A file, or standard input. */
export type Input = {
  /** Undefined for standard input. */
  readonly size: number | undefined
  /** What tells it from other files: how it begins, and how long it is. The rest is compared when an import goes on. */
  readonly fileIs: string
  readonly isArchive: boolean
  readonly chunks: AsyncIterable<Uint8Array>
  /** How many bytes were read so far. */
  readonly readBytes: () => number
}

/** Reads how the input begins, and refuses what is no text. */
export const openInput = async (word: string): Promise<Input> => {
  const size = word === '-' ? undefined : sizeOf(word)
  const stream: AsyncIterable<Uint8Array> =
    word === '-' ? process.stdin : createReadStream(word, { highWaterMark: chunkBytes })
  const source = stream[Symbol.asyncIterator]()
  const first: Uint8Array[] = []
  let held = 0
  let read = 0
  const next = async (): Promise<Uint8Array | undefined> => {
    const { done, value } = await source.next().catch((error: unknown) => {
      throw new ConfigError(`${word} ${unreadable(error)}`)
    })
    return done ? undefined : value
  }
  while (held < headBytes) {
    const chunk = await next()
    if (chunk === undefined) break
    first.push(chunk)
    held += chunk.length
  }
  const head = Buffer.concat(first).subarray(0, headBytes)
  requireText(word, head)
  const digest = createHash('sha256').update(head).digest('hex')
  return {
    size,
    fileIs: `${digest} ${size ?? 'stream'}`,
    isArchive: head.toString('latin1').startsWith(archiveMagic),
    readBytes: () => read,
    chunks: (async function* () {
      for (let chunk = first.shift() ?? (await next()); chunk !== undefined; ) {
        read += chunk.length
        yield chunk
        chunk = first.shift() ?? (await next())
      }
    })(),
  }
}

const sizeOf = (path: string): number | undefined => {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) throw new ConfigError(`there is no file ${path}`)
  if (found.isDirectory()) throw new ConfigError(`${path} is a folder`)
  return found.isFile() ? found.size : undefined
}

const refusals: readonly (readonly [start: readonly number[], problem: string])[] = [
  [[0xff, 0xfe], 'is UTF-16: save it as UTF-8 first, for example with iconv'],
  [[0xfe, 0xff], 'is UTF-16: save it as UTF-8 first, for example with iconv'],
  [[0x1f, 0x8b], 'is compressed: gunzip -c gives its content, which import - reads'],
  [[0x50, 0x4b, 0x03, 0x04], 'is a zip archive: unpack it first'],
  [
    [...Buffer.from('-----BEGIN AGE')],
    'is an armored archive: age --decrypt opens it, and import - reads that',
  ],
]

const requireText = (word: string, head: Uint8Array): void => {
  const name = word === '-' ? 'standard input' : word
  for (const [start, problem] of refusals)
    if (start.every((byte, at) => head[at] === byte)) throw new ConfigError(`${name} ${problem}`)
}
