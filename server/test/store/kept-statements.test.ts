import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { statementNames } from '../../src/store/postgres/reading-side.ts'
import { statementCache } from '../../src/store/sqlite/statement-cache.ts'

/** Different statements, each about this long. */
const statement = (number: number, characters: number): string =>
  `SELECT ${number} /*${'x'.repeat(characters)}*/`
const forms = [
  ['short ones', 100, 200],
  ['longer ones', 9_000, 30],
  ['the few very long ones that one search asks for again and again', 100_000, 4],
] as const

describe('memory for statements', () => {
  for (const [name, characters, kept] of forms)
    test(`SQLite keeps as many of the latest statements as there is room for: ${name} (C26.9)`, () => {
      const database = new DatabaseSync(':memory:')
      const prepared = statementCache(sql => database.prepare(sql))
      const made = Array.from({ length: 300 }, (_, at) => prepared(statement(at, characters)))
      // Asked from the latest to the oldest that must still be there: a hit drops none.
      const again = made
        .map((_, at) => at)
        .reverse()
        .slice(0, kept)
      for (const at of again) assert.equal(prepared(statement(at, characters)), made[at], String(at))
      assert.notEqual(prepared(statement(0, characters)), made[0])
    })

  test('PostgreSQL keeps the plans of as many statements as there is room for (C26.9)', () => {
    for (const [name, characters] of forms) {
      const nameOf = statementNames()
      const named = Array.from({ length: 5_000 }, (_, at) => nameOf(statement(at, characters)).name)
      const count = named.filter(each => each !== undefined).length
      assert.equal(new Set(named.slice(0, count)).size, count, name)
      assert.ok(count * characters <= 300_000 && (characters > 10_000 || count >= 30), `${name}: ${count}`)
      assert.equal(nameOf(statement(0, characters)).name, named[0], 'the same again')
    }
  })
})
