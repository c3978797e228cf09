import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { commandOf } from '../../src/cli/commands/registry.ts'
import { settings } from '../../src/config/settings.ts'

const root = join(import.meta.dirname, '../../..')
const pages = ['README.md', 'SECURITY.md', ...globSync('docs/*.md', { cwd: root })].filter(
  page => !/(conformance|requirements|reference)\.md$/.test(page),
)

/** Every call of the program in a page: in a line of a shell block, or in backticks with at least one option. */
const calls = (page: string): string[] => {
  const text = readFileSync(join(root, page), 'utf8').replaceAll('\\\n', ' ')
  const blocks = [...text.matchAll(/^ *```sh\n([\s\S]*?)^ *```/gm)].flatMap(([, lines = '']) =>
    lines.split('\n'),
  )
  const inline = [...text.matchAll(/`(strongroom [a-z][^`]*)`/g)].map(([, call = '']) => call)
  return [...blocks, ...inline].flatMap(line =>
    [...line.matchAll(/(?<![\w./=:-])strongroom ((?:[a-z]|--)[^|&;>#()]*)/g)].map(([, call = '']) =>
      call.trim(),
    ),
  )
}

describe('what the documentation tells people to type', () => {
  for (const page of pages) {
    const found = calls(page)
    if (found.length === 0) continue
    test(`the commands in ${page} exist, with their options (C35)`, () => {
      for (const call of found) {
        const words = call.split(/\s+/)
        if (words[0] === 'help' || words[0]?.startsWith('-')) continue
        const command = commandOf(words)
        // Prose names a group of commands by its first word.
        if (command === undefined && /^(tenant|app|logs|key)( …)?$/.test(call)) continue
        assert.ok(command, `strongroom ${call}`)
        const known = [
          ...settings.map(({ name }) => name),
          ...Object.keys({ ...command.options, ...command.flags }),
          ...['config', 'help'],
        ]
        for (const [, option = ''] of call.matchAll(/(?<=^|\s)--([a-z-]+)/g))
          assert.ok(known.includes(option), `strongroom ${call}`)
      }
    })
  }
})
