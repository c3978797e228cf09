import { readFileSync } from 'node:fs'
import type { Links } from './links.ts'
import { type Guide, readGuide } from './markdown.ts'

/** The pages of `docs/` that callers of the vault need, in reading order. The rest is for operators, beside the source. */
export const guideNames = [
  'cards',
  'tokens',
  'expressions',
  'access',
  'use',
  'search',
  'events',
  'production',
  'drop-in',
  'pci-scope',
] as const
export type GuideName = (typeof guideNames)[number]

/** In a clone the folder is beside `server`, in the package beside `src`. */
const folders = [new URL('../../../docs/', import.meta.url), new URL('../../../../docs/', import.meta.url)]

export const guide = (name: GuideName, links: Links): Guide =>
  readGuide(sourceOf(name), target => linkTo(links, name, target))

const sourceOf = (name: GuideName): string => {
  for (const folder of folders)
    try {
      return readFileSync(new URL(`${name}.md`, folder), 'utf8')
    } catch {
      // It is in the other one.
    }
  throw new Error(`the page ${name} is missing from the package`)
}

/** Links between the guides lead to their pages. Files that only a clone has are named, not linked. */
const linkTo = (links: Links, from: GuideName, target: string): string | undefined => {
  if (target.startsWith('https://')) return target
  if (target.startsWith('#')) return links.to(`${from}${target}`)
  const [, name, anchor = ''] = /^([\w-]+)\.md(#.*)?$/.exec(target) ?? []
  if (guideNames.some(known => known === name)) return links.to(`${name}${anchor}`)
  // The tables of `reference.md` are pages here.
  if (name === 'reference')
    return {
      '#limits': links.to('limits'),
      '#token-types': links.to('types'),
      '#errors': links.to('errors'),
    }[anchor]
  return target.startsWith('../README.md') ? links.to('') : undefined
}
