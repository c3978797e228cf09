import { stripTypeScriptTypes } from 'node:module'

/**
 * The source as JavaScript: types and whole-line comments become blanks, and what it names ends in `.js`. Everything that is left
 * stays at its line and column, so a stack trace points into the source.
 */
export const plainJavaScript = (source: string, file: string): string => {
  const stripped = file.endsWith('.ts') ? stripTypeScriptTypes(source, { mode: 'strip' }) : source
  return withoutTrailingBlanks(javaScriptNames(withoutCommentLines(stripped, file)), source)
}

/** What an import, or the address of a thread, names. Both are strings at the same places before and after. */
const namePattern = /(\b(?:from|import)\s*\(?\s*|\bnew URL\(\s*)'(\.{1,2}\/[^'\n]+)\.ts'/g

/** Imports of `./a.ts` become those of `./a.js`. */
export const javaScriptNames = (code: string): string => code.replace(namePattern, "$1'$2.js'")

/** Relative files that the code imports or starts. */
export const namedFiles = (code: string): string[] =>
  [
    ...code.matchAll(/(?:\b(?:from|import)\s*\(?\s*|\bnew URL\(\s*)'(\.{1,2}\/[^'\n]+\.(?:[jt]s|json))'/g),
  ].map(([, name = '']) => name)

const commentPattern = /^[ ]*(?:\/\*(?:(?!\*\/)[\s\S])*\*\/[ ]*|\/\/.*)$/gm

/** A quarter of the package would be comments. A line of text that only looks like one fails the build. */
const withoutCommentLines = (code: string, file: string): string => {
  let ticks = 0
  let from = 0
  return code.replace(commentPattern, (comment, at: number) => {
    ticks += code.slice(from, at).split('`').length - 1
    from = at + comment.length
    if (ticks % 2 === 1)
      throw new Error(`${file}: what looks like a comment is inside a template: ${comment}`)
    return comment.replace(/[^\n]/g, '')
  })
}

/** Only blanks that were made: those of the source may be part of a text. */
const withoutTrailingBlanks = (code: string, source: string): string => {
  const lines = source.split('\n')
  return `${code
    .split('\n')
    .map((line, at) => (/\s$/.test(lines[at] ?? '') ? line : line.trimEnd()))
    .join('\n')
    .trimEnd()}\n`
}
