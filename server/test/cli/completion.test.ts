import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { after, before, describe, test } from 'node:test'
import { commands } from '../../src/cli/commands/registry.ts'
import { shells } from '../../src/cli/shells.ts'
import { assertRefused, Site } from '../rig/program.ts'

type Case = { readonly line: string; readonly offers: readonly string[]; readonly lacks?: readonly string[] }

const firstWords = [...new Set(commands.map(({ name }) => name.split(' ')[0] ?? name))]
const cases: readonly Case[] = [
  { line: 'strongroom ', offers: [...firstWords, 'help'], lacks: ['settings'] },
  { line: 'strongroom help ', offers: [...firstWords, 'settings'] },
  { line: 'strongroom ser', offers: ['serve'], lacks: ['dev'] },
  { line: 'strongroom app ', offers: ['create', 'list', 'grant'], lacks: ['rekey'] },
  { line: 'strongroom master-key ', offers: ['add', 'rewrap', 'retire'] },
  { line: 'strongroom master-key --', offers: ['--master-key-file'], lacks: ['--data', '--master-key'] },
  { line: 'strongroom master-key add --', offers: ['--data', '--master-key-file'] },
  { line: 'strongroom doctor --deep --re', offers: ['--repair'], lacks: ['--deep'] },
  { line: 'strongroom app create --type p', offers: ['public', 'private'], lacks: ['management'] },
  { line: 'strongroom logs list --result ', offers: ['allowed', 'denied', 'failed'] },
  { line: 'strongroom serve --key-provider ', offers: ['file', 'env'] },
  { line: 'strongroom completion ', offers: [...shells] },
  { line: 'strongroom migrate --', offers: ['--status', '--data'], lacks: ['--from'] },
  { line: 'strongroom migrate-store --', offers: ['--from'], lacks: ['--status'] },
]

/** What a shell would offer for the word under the cursor, at the end of the line. */
const offered: Readonly<Record<string, (script: string, line: string) => string>> = {
  bash: (script, line) =>
    [
      script,
      `COMP_WORDS=(${line}${line.endsWith(' ') ? "''" : ''})`,
      // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the shell's
      'COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _strongroom; printf "%s\n" "${COMPREPLY[@]}"',
    ].join('\n'),
  fish: (script, line) => `${script}\ncomplete -C '${line}'`,
}

const runs = (shell: string): boolean => spawnSync(shell, ['-c', 'true']).status === 0

describe('completion', () => {
  const site = new Site()
  after(() => site.remove())
  const scripts: Record<string, string> = {}
  before(async () => {
    for (const shell of shells) {
      const { code, stdout, stderr } = await site.run(['completion', shell])
      assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
      scripts[shell] = stdout
    }
  })

  for (const shell of shells)
    test(`${shell} can read its script, which names every command (C35)`, context => {
      for (const { name } of commands)
        assert.ok(name.split(' ').every(word => scripts[shell]?.includes(word)))
      if (!runs(shell)) return context.skip(`there is no ${shell} here`)
      const { status, stderr } = spawnSync(shell, ['-n', site.file(shell, scripts[shell] ?? '')], {
        encoding: 'utf8',
      })
      assert.deepEqual({ status, stderr }, { status: 0, stderr: '' })
    })

  for (const [shell, program] of Object.entries(offered))
    for (const { line, offers, lacks = [] } of cases)
      test(`${shell} offers what may follow "${line}" (C35)`, context => {
        if (!runs(shell)) return context.skip(`there is no ${shell} here`)
        const input = program(scripts[shell] ?? '', line)
        const { stdout, stderr } = spawnSync(shell, ['-c', input], { encoding: 'utf8', cwd: site.path })
        const words = stdout.split('\n').map(told => told.split('\t')[0])
        assert.equal(stderr, '')
        for (const word of offers) assert.ok(words.includes(word), `${word} is missing: ${words.join(' ')}`)
        for (const word of lacks) assert.ok(!words.includes(word), `${word} is offered`)
      })

  test('a shell that there is no script for is refused (C35)', async () => {
    assertRefused(await site.run(['completion', 'bsh']), 2, /must be bash, zsh, fish \(did you mean bash\?\)/)
  })
})
