import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Every form in which a text could lie somewhere without being seen at a glance. */
export const formsOf = (text: string): Buffer[] => {
  const bytes = Buffer.from(text)
  const forms = [
    bytes,
    Buffer.from(JSON.stringify(text).slice(1, -1)),
    Buffer.from(encodeURIComponent(text)),
    Buffer.from(bytes.toString('hex')),
    Buffer.from(bytes.toString('hex').toUpperCase()),
    Buffer.from(text, 'utf16le'),
    Buffer.from(text, 'utf16le').swap16(),
    ...base64Forms(bytes, 'base64'),
    ...base64Forms(bytes, 'base64url'),
  ]
  return [...new Map(forms.map(form => [form.toString('latin1'), form])).values()]
}

/**
 * Base64 of a text that stands somewhere inside a longer one: it depends on the position modulo three, and
 * the characters at both ends on what stands beside it.
 */
const base64Forms = (bytes: Buffer, encoding: 'base64' | 'base64url'): Buffer[] =>
  [0, 1, 2].map(shift => {
    const encoded = Buffer.concat([Buffer.alloc(shift), bytes])
      .toString(encoding)
      .replace(/=+$/, '')
    const start = shift === 0 ? 0 : shift + 1
    const isRagged = (shift + bytes.length) % 3 !== 0
    return Buffer.from(encoded.slice(start, isRagged ? -1 : undefined))
  })

/** The texts of which any form is in the content. */
export const tracesOf = (texts: Iterable<string>, content: string | Uint8Array): string[] => {
  const bytes = Buffer.from(content)
  return [...texts].filter(text => formsOf(text).some(form => bytes.includes(form)))
}

/** Every file of a folder with its bytes. */
export const filesOf = (folder: string): Map<string, Buffer> =>
  new Map(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(entry => join(entry.parentPath, entry.name))
      .map(path => [path, readFileSync(path)]),
  )
