import { gzipSync } from 'node:zlib'

export type PackedFile = { readonly path: string; readonly bytes: Uint8Array; readonly isProgram?: boolean }

const blockBytes = 512
/** As npm has it: 26 October 1985. Tools complain about files of 1970. */
const packedAt = 499_162_500

/** A tarball as npm reads it: the same files give the same bytes, whoever packs them and when. */
export const tarball = (files: readonly PackedFile[]): Buffer => {
  const sorted = files.toSorted((a, b) => (a.path < b.path ? -1 : 1))
  const blocks = sorted.flatMap(file => [header(file), file.bytes, padding(file.bytes.length)])
  const bytes = gzipSync(Buffer.concat([...blocks, Buffer.alloc(2 * blockBytes)]), { level: 9, memLevel: 9 })
  // Names no operating system.
  bytes[9] = 255
  return bytes
}

const padding = (length: number): Buffer => Buffer.alloc((blockBytes - (length % blockBytes)) % blockBytes)

/** A header of the format ustar. */
const header = ({ path, bytes, isProgram }: PackedFile): Buffer => {
  const block = Buffer.alloc(blockBytes)
  const [prefix, name] = splitPath(`package/${path}`)
  const octal = (value: number, at: number, length: number): void => {
    block.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at, 'latin1')
  }
  block.write(name, 0, 'utf8')
  octal(isProgram ? 0o755 : 0o644, 100, 8)
  octal(0, 108, 8)
  octal(0, 116, 8)
  octal(bytes.length, 124, 12)
  octal(packedAt, 136, 12)
  block.write('        0', 148, 'latin1')
  block.write('ustar\u000000', 257, 'latin1')
  block.write(prefix, 345, 'utf8')
  octal(
    block.reduce((sum, byte) => sum + byte, 0),
    148,
    7,
  )
  return block
}

const nameBytesMax = 100
const prefixBytesMax = 155

const splitPath = (path: string): [prefix: string, name: string] => {
  if (Buffer.byteLength(path) <= nameBytesMax) return ['', path]
  const at = path.indexOf('/', path.length - nameBytesMax - 1)
  if (at === -1 || at > prefixBytesMax) throw new Error(`${path} is too long for a tarball`)
  return [path.slice(0, at), path.slice(at + 1)]
}
