import { readFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'

/**
 * A module and all that it imports as one script, because a browser would fetch fifty files one after the other. It knows the
 * forms of imports and exports that this project uses, and refuses others. There are no cycles (test/layers.test.ts).
 */
export const bundle = async (entry: URL): Promise<string> => {
  const made: string[] = []
  const places = new Map<string, number>()
  const add = async (url: URL): Promise<number> => {
    const known = places.get(url.href)
    if (known !== undefined) return known
    // Each file is read in a turn of its own, so that nobody waits for all of them.
    const { code, imports, names } = readModule(plainScript(await readFile(url, 'utf8'), url), url)
    const taken: string[] = []
    for (const { bindings, from } of imports) {
      const source = from.startsWith('.') ? `m${await add(new URL(from, url))}` : 'absent'
      taken.push(`const {${bindings}} = ${source}\n`)
    }
    const place = made.length
    made.push(`const m${place} = (() => {\n${taken.join('')}${code}\nreturn {${names.join(', ')}}\n})()\n`)
    places.set(url.href, place)
    return place
  }
  await add(entry)
  return `'use strict';(() => {\n${absent}${made.join('')}})()\n`
}

/** Stands for modules of Node, which only filters use that a browser is not asked for. */
const absent = `const absent = new Proxy({}, { get: () => () => { throw new Error('not in a browser') } })
const Buffer = { from: text => new TextEncoder().encode(text) }
`

type Import = { readonly bindings: string; readonly from: string }

const importPattern = /^import\s*\{([^}]*)\}\s*from\s*'([^']+)';?$/gm
const exportPattern = /^export (?=(?:const|class|function|async function) (\w+))/gm

const readModule = (source: string, url: URL): { code: string; imports: Import[]; names: string[] } => {
  const imports: Import[] = []
  const names: string[] = []
  const code = source
    .replace(importPattern, (_, bindings: string, from: string) => {
      imports.push({ bindings: bindings.replace(/\s+/g, ' ').replaceAll(' as ', ': '), from })
      return ''
    })
    .replace(exportPattern, (_, name: string) => {
      names.push(name)
      return ''
    })
  if (/^(?:import|export)\b/m.test(code))
    throw new Error(`${url.href} imports or exports in a form not known here`)
  return { code: code.trim(), imports, names }
}

/** The package has plain JavaScript already. */
const plainScript = (source: string, { pathname }: URL): string => {
  if (!pathname.endsWith('.ts')) return source
  return withoutWarning(() => stripTypeScriptTypes(source, { mode: 'strip' }))
    .replace(/^ *(?:\/\*(?:(?!\*\/)[\s\S])*\*\/ *|\/\/.*)$/gm, '')
    .replace(/^\s*\n/gm, '')
}

/** Node says once that the function is experimental: news for developers, not for whoever runs a vault. */
const withoutWarning = (work: () => string): string => {
  const emitWarning = process.emitWarning
  process.emitWarning = () => {}
  try {
    return work()
  } finally {
    process.emitWarning = emitWarning
  }
}
