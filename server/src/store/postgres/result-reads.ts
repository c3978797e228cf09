import * as columns from '../columns.ts'
import type { Store } from '../port.ts'
import * as statements from '../sql/statements.ts'
import { fewBytesMax } from './dialect.ts'
import type { ReadingSide } from './reading-side.ts'

/** A kept answer may be as long as a body. Then it is read apart, where nobody's short read waits behind it (read-pool.ts). */
export const resultReads = ({ ask }: ReadingSide) =>
  ({
    getResult: async (...asked) => {
      const [found] = await ask<columns.Columns>(shortResult, asked)
      if (found === undefined || found.sealed !== null) return found && columns.resultRow(found)
      const [long] = await ask<columns.Columns>(statements.resultByHash, asked, { isLong: true })
      return long && columns.resultRow(long)
    },
  }) satisfies Partial<Store>

const shortResult = statements.resultByHash.replace(
  'sealed FROM',
  `CASE WHEN octet_length(sealed) <= ${fewBytesMax} THEN sealed END AS sealed FROM`,
)
