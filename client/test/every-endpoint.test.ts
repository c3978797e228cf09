import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { clientCalls } from '../../server/src/http/docs/client-methods.ts'
import { routes } from '../src/generated/routes.ts'
import { Vault } from '../src/main.ts'

const source = readFileSync(join(import.meta.dirname, '../src/vault.ts'), 'utf8')
const vault = new Vault({ baseUrl: 'http://127.0.0.1:1' })

/** What a method's own body sends. */
const bodyOf = (path: string): string => {
  const [method = '', group] = path.split('.').toReversed()
  const inClass = group === undefined ? 'Vault' : `${group.charAt(0).toUpperCase()}${group.slice(1)}`
  const [, text = ''] = source.split(new RegExp(`^(?:export )?class ${inClass} \\{$`, 'm'))
  const [, rest = ''] = text.split(new RegExp(`^  (?:async \\*)?${method}[(<]`, 'm'))
  return rest.split(/^ {2}\}$/m)[0] ?? ''
}

test('each endpoint has a method, which calls it (client/README.md)', () => {
  assert.deepEqual(Object.keys(clientCalls).sort(), Object.keys(routes).sort())
  for (const [id, { method: path }] of Object.entries(clientCalls)) {
    const method = path
      .split('.')
      .reduce<unknown>((inside, name) => (inside as Record<string, unknown>)[name], vault)
    assert.equal(typeof method, 'function', path)
    assert.match(bodyOf(path), new RegExp(`\\(\\s*'${id}'`), path)
  }
})
