import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { tokenTypes } from '../src/domain/tokens/types/registry.ts'

const root = join(import.meta.dirname, '../src')

const sources = (pattern: string): { file: string; code: string }[] =>
  globSync(pattern, { cwd: root }).map(file => ({
    file,
    code: readFileSync(join(root, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, ''),
  }))

test('the expression language uses no regular expressions (C20.8)', () => {
  const found = sources('domain/expressions/**/*.ts')
  assert.ok(found.length > 20)
  const expression = /[=(,:!&|?[]\s*\/(?![/*])(?:[^/\\\n]|\\.)+\/[dgimsuvy]*[\s.,)\];]|\bRegExp\b/
  for (const { file, code } of found) assert.doesNotMatch(code, expression, file)
})

test('shared code never asks which type of token it has (C9.10)', () => {
  const names = [...tokenTypes.keys()].filter(name => name !== 'token')
  for (const { file, code } of sources('**/*.ts')) {
    if (file.startsWith(join('domain', 'tokens', 'types'))) continue
    for (const name of names) assert.ok(!code.includes(`'${name}'`), `${file} names the type ${name}`)
  }
})

test('all properties draw from one seed, because only rig/properties.ts imports fast-check (docs/testing.md)', () => {
  const importing = globSync('**/*.ts', { cwd: import.meta.dirname }).filter(file =>
    /^import .*'fast-check'$/m.test(readFileSync(join(import.meta.dirname, file), 'utf8')),
  )
  assert.deepEqual(importing, [join('rig', 'properties.ts')])
})

test('every file of the rig is in the table (docs/testing.md)', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/testing.md'), 'utf8')
  const named = page.split('## The rig')[1]?.matchAll(/^\| (`[^|]*`) \|/gm) ?? []
  assert.deepEqual(
    [...named].flatMap(([, files = '']) => files.split(', ')).sort(),
    globSync('*.ts', { cwd: join(import.meta.dirname, 'rig') })
      .map(file => `\`${file}\``)
      .sort(),
  )
})

test('what is logged as an error is in the table of what is worth an alert, which has nothing that is never logged (docs/operating.md)', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/operating.md'), 'utf8')
  const rows =
    page
      .split('### Worth an alert')[1]
      ?.split('\n#')[0]
      ?.matchAll(/^\| (`[^|]*`) \|/gm) ?? []
  const told = [...rows]
    .flatMap(([, cell = '']) => cell.slice(1, -1).split('`, `'))
    .filter(text => text !== 'msg')
  const code = sources('**/*.ts')
    .map(({ code }) => code)
    .join('\n')
  assert.ok(told.length > 10)
  for (const text of told) assert.ok(code.includes(`'${text}'`), text)
  const errors = [...code.matchAll(/\blog\.error\(\s*\{[\s\S]*?\},?\s*'([^']+)'/gi)].map(
    ([, text = '']) => text,
  )
  assert.ok(errors.length > 5)
  assert.deepEqual(
    errors.filter(text => !told.includes(text)),
    [],
  )
})
