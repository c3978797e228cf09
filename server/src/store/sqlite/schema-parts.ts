import { DatabaseSync } from 'node:sqlite'
import type { SchemaDifference } from '../sql/migration.ts'
import { migrate } from './migrate.ts'
import { openToRead } from './open-database.ts'
import { foreignParts } from './own-storage.ts'

export const compareSqliteSchema = (path: string): SchemaDifference => {
  const expected = new DatabaseSync(':memory:')
  const found = openToRead(path)
  try {
    migrate(expected)
    // In one transaction, because another process may be migrating.
    found.exec('BEGIN')
    const there = new Set(partsOf(found))
    const missing = partsOf(expected).filter(part => !there.has(part))
    const isTold = (part: string): boolean =>
      part.startsWith('no ') || missing.some(lost => lost.startsWith(`${part.replace('table', 'column')}.`))
    return { missing, foreign: foreignParts(found).filter(part => !isTold(part)) }
  } finally {
    expected.close()
    found.close()
  }
}

const partsOf = (database: DatabaseSync): string[] =>
  [tables, columns, keys, indexes, triggers].flatMap(sql =>
    database
      .prepare(sql)
      .all()
      .map(({ part }) => String(part)),
  )

const tables = "SELECT 'table ' || name AS part FROM sqlite_schema WHERE type = 'table' ORDER BY name"

const columns = `
  SELECT 'column ' || t.name || '.' || c.name AS part
  FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table' ORDER BY part`

const keys = `
  SELECT 'primary key of ' || name || ' (' || group_concat(key, ', ') || ')' AS part
  FROM (SELECT t.name AS name, c.name AS key FROM sqlite_schema t, pragma_table_info(t.name) c
    WHERE t.type = 'table' AND c.pk > 0 ORDER BY t.name, c.pk)
  GROUP BY name ORDER BY name`

/** Indexes that come from a primary key or a constraint are listed without a name. */
const indexes = `
  SELECT iif("unique", 'unique ', '') || 'index ' || iif(origin = 'c', name || ' ', '') || 'on ' || owner
    || ' (' || group_concat(key, ', ') || ')' AS part
  FROM (SELECT t.name AS owner, i.name AS name, i."unique" AS "unique", i.origin AS origin,
      c.name || iif(c."desc", ' DESC', '') AS key
    FROM sqlite_schema t, pragma_index_list(t.name) i, pragma_index_xinfo(i.name) c
    WHERE t.type = 'table' AND c.key = 1 ORDER BY t.name, i.name, c.seqno)
  GROUP BY owner, name ORDER BY part`

const triggers = "SELECT 'trigger ' || name AS part FROM sqlite_schema WHERE type = 'trigger' ORDER BY name"
