import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { readConfig } from '../server/src/config/config.ts'
import { reference } from './reference.ts'

type Table = { readonly head: readonly string[]; readonly rows: readonly (readonly string[])[] }

const cells = (line: string): string[] =>
  line
    .slice(2, -2)
    .split(/(?<!\\)\| /)
    .map(text => text.trim())

const tables: readonly Table[] = reference()
  .trim()
  .split('\n\n')
  .filter(block => block.startsWith('|'))
  .map(block => {
    const [head = '', , ...rows] = block.split('\n')
    return { head: cells(head), rows: rows.map(cells) }
  })

test('no text breaks its table (docs/reference.md)', () => {
  assert.ok(tables.length > 0)
  for (const { head, rows } of tables) {
    assert.ok(rows.length > 0)
    for (const row of rows) assert.equal(row.length, head.length, row.join(' | '))
  }
})

test('a config file accepts each key under its name in the table (docs/reference.md)', t => {
  const folder = mkdtempSync(join(tmpdir(), 'reference-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const settings = tables.find(({ head }) => head[0] === 'flag')?.rows ?? []
  assert.notEqual(settings.length, 0)
  for (const [, , key = ''] of settings) {
    const config = join(folder, 'config.json')
    // No setting has the value `?` and few accept it. Any other complaint is fine, but not that the setting is unknown.
    writeFileSync(config, JSON.stringify({ [key.replaceAll('`', '')]: '?' }), { mode: 0o600 })
    try {
      readConfig({ options: { config }, environment: {} })
    } catch (error) {
      assert.doesNotMatch(`${error}`, /unknown setting/, key)
    }
  }
})
