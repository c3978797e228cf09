import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Every form in which a text could be hidden from a plain search. */
const formsOf = (text: string): Buffer[] => {
  const bytes = Buffer.from(text)
  const forms = [
    bytes,
    Buffer.from(JSON.stringify(text).slice(1, -1)),
    Buffer.from(encodeURIComponent(text.toWellFormed())),
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
 * The base64 of a text inside a longer one depends on its position modulo three, and its characters at both ends depend
 * on the neighbouring bytes.
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

/** Finds the texts that a content holds in any form. Looks for thousands of forms in one pass. */
export const traceFinder = (texts: Iterable<string>): ((content: string | Uint8Array) => string[]) => {
  const startings = new Uint8Array(0x1_0000)
  const formsByStart = new Map<number, { readonly form: Buffer; readonly text: string }[]>()
  for (const text of texts)
    for (const form of formsOf(text)) {
      const start = form.readUInt32LE(0)
      const others = formsByStart.get(start)
      if (others === undefined) formsByStart.set(start, [{ form, text }])
      else others.push({ form, text })
      startings[form.readUInt16LE(0)] = 1
    }
  return content => {
    const bytes = Buffer.from(content)
    const found = new Set<string>()
    for (let at = 0; at < bytes.length - 3; at++) {
      const pair = (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8)
      if (startings[pair] === 0) continue
      for (const { form, text } of formsByStart.get(bytes.readUInt32LE(at)) ?? [])
        if (bytes.subarray(at, at + form.length).equals(form)) found.add(text)
    }
    return [...found]
  }
}

/** Fails if any of the texts, in any form, is in any of the places. */
export const assertAbsent = (places: Record<string, string | Uint8Array>, texts: readonly string[]): void => {
  const find = traceFinder(texts)
  for (const [place, content] of Object.entries(places))
    assert.equal(find(content).length, 0, `${place} holds a submitted value`)
}

/** Every file of a folder with its bytes. */
export const filesOf = (folder: string): Map<string, Buffer> =>
  new Map(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(entry => join(entry.parentPath, entry.name))
      .map(path => [path, readFileSync(path)]),
  )
