import { promisify } from 'node:util'
import { brotliDecompress, gunzip } from 'node:zlib'
import { OutboundError } from './outbound-error.ts'

const decoders = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  br: promisify(brotliDecompress),
} as const

/** A window of brotli takes up to 16 MiB while it is open, whatever the answer's length. */
const atOnceMax = 2
let atOnce = 0
const waiting: (() => void)[] = []

/** What a `Content-Encoding` says: no layer, one that can be decoded, or anything else. */
export const layerOf = (encoding: string | undefined): keyof typeof decoders | 'none' | undefined => {
  const layer = encoding?.trim().toLowerCase() ?? ''
  if (layer === '' || layer === 'identity') return 'none'
  return layer === 'gzip' || layer === 'x-gzip' || layer === 'br' ? layer : undefined
}

/** Takes one layer off. Whatever it was meant to become, no more than `bytesMax` of it is ever made. */
export const decodeBody = async (
  body: Buffer,
  layer: keyof typeof decoders,
  { bytesMax, status }: { bytesMax: number; status: number },
): Promise<Buffer> => {
  while (atOnce >= atOnceMax) await new Promise<void>(resolve => waiting.push(resolve))
  atOnce++
  try {
    return await decoders[layer](body, { maxOutputLength: bytesMax })
  } catch {
    throw new OutboundError('answer', { sent: true, status })
  } finally {
    atOnce--
    waiting.shift()?.()
  }
}
