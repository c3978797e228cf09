import { existsSync, readlinkSync } from 'node:fs'
import { dirname } from 'node:path'

type BrokenLink = { readonly problem: string; readonly advice: string }

/**
 * The link on the way to the folder that leads nowhere, for example because a disk is not mounted. What is behind it only seems
 * never to have been made.
 */
export const brokenLink = (path: string): BrokenLink | undefined => {
  if (existsSync(path)) return undefined
  const target = targetOf(path)
  if (target === undefined) return brokenLink(dirname(path))
  return {
    problem: `the link ${path} leads to ${target}, which is not there`,
    advice:
      'mount the disk that it is on, or make the link or --data lead to the folder that holds the vault',
  }
}

/** Undefined if it is not a link, or not one that this user can see. */
const targetOf = (path: string): string | undefined => {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}
