import * as columns from '../columns.ts'
import type { LogCursor, Store } from '../port.ts'
import { limited, type Reading } from './dialect.ts'

/** Reads of the log (L3). Every engine has its tables. */
export const logReads = ({ row, rows }: Reading) =>
  ({
    readLog: async (tenant, cursors, { limit, backwards = false }) => {
      if (cursors.length === 0) return []
      const blocks = await rows(
        cursors.map(() => (backwards ? blocksBelow : blocksFrom)).join(' UNION ALL '),
        cursors.flatMap(cursor => (backwards ? below : onFrom)(tenant, cursor, limit)),
        columns.logBlock,
      )
      // No engine promises the order of a union.
      return blocks.sort((a, b) => a.writer - b.writer || (backwards ? b.first - a.first : a.first - b.first))
    },
    listLogHeads: tenant => rows(headsOfTenant, [tenant, tenant], columns.startedLogHead),
    listGrownLogs: limit => rows(grownLogs, [limit], columns.grownLog),
    getLogTree: (tenant, writer) => row(treeOfWriter, [tenant, writer], columns.logTree),
    listLogOwners: (after, limit) => rows(ownersAfter, [after, limit], columns.logOwner),
    findLogOwner: id => row(ownerById, [id], columns.logOwner),
    newestCheckpoint: () => row(newestCheckpoint, [], columns.logCheckpoint),
    scanCheckpoints: (after, limit) => rows(checkpointsAfter, [after, limit], columns.logCheckpoint),
    scanLogLeaves: (from, limit) => rows(leavesFrom, [from, limit], columns.logLeaf),
  }) satisfies Partial<Store>

const blockColumns = 'tenant, writer, first_record, records, kept, first_at, last_at, sealed'

/** Starts at the block that holds the record, which an index finds by the highest number up to it. */
const blocksFrom = `SELECT * FROM (
  SELECT ${blockColumns} FROM log
  WHERE tenant = ? AND writer = ? AND first_record + records > ? AND first_record >= coalesce(
    (SELECT max(first_record) FROM log WHERE tenant = ? AND writer = ? AND first_record <= ?), 0)
  ORDER BY first_record ${limited}) page`
const onFrom = (tenant: number, { writer, from }: LogCursor, limit: number): number[] => [
  tenant,
  writer,
  from,
  tenant,
  writer,
  from,
  limit,
]

const blocksBelow = `SELECT * FROM (
  SELECT ${blockColumns} FROM log WHERE tenant = ? AND writer = ? AND first_record < ?
  ORDER BY first_record DESC ${limited}) page`
const below = (tenant: number, { writer, from }: LogCursor, limit: number): number[] => [
  tenant,
  writer,
  from,
  limit,
]

const headsOfTenant = `
  SELECT h.tenant, h.writer, h.size, coalesce(
    (SELECT min(l.first_record) FROM log l WHERE l.tenant = ? AND l.writer = h.writer), h.size) AS start
  FROM log_heads h WHERE h.tenant = ? ORDER BY h.writer`

const grownLogs = `
  SELECT heads.tenant, heads.writer, heads.size, t.size AS tree_size, t.sealed
  FROM log_heads heads LEFT JOIN log_trees t ON t.tenant = heads.tenant AND t.writer = heads.writer
  WHERE t.size IS NULL OR t.size < heads.size ${limited}`

const treeOfWriter = 'SELECT tenant, writer, size, sealed FROM log_trees WHERE tenant = ? AND writer = ?'

const ownersAfter = `SELECT tenant, tenant_id FROM log_owners WHERE tenant > ? ORDER BY tenant ${limited}`
const ownerById = 'SELECT tenant, tenant_id FROM log_owners WHERE tenant_id = ?'

const checkpointColumns = 'size, at, note, sealed'
const newestCheckpoint = `SELECT ${checkpointColumns} FROM log_checkpoints
  WHERE size = (SELECT max(size) FROM log_checkpoints)`
const checkpointsAfter = `SELECT ${checkpointColumns} FROM log_checkpoints WHERE size > ? ORDER BY size ${limited}`

const leavesFrom = `SELECT position, tenant, writer, size, root FROM log_leaves WHERE position >= ? ORDER BY position ${limited}`
