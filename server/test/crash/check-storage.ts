import assert from 'node:assert/strict'
import { examineDeep } from '../../src/cli/doctor/examine-deep.ts'
import { Report } from '../../src/cli/doctor/report.ts'
import type { Config } from '../../src/config/config.ts'

const examinationsMax = 50

/** Runs `doctor --deep`, several times if needed: the sweeper of a node that has just started may write meanwhile. */
export const examineStorage = async (config: Config): Promise<void> => {
  for (let count = 1; ; count++) {
    const report = new Report()
    await examineDeep(config, { repair: false }, report)
    assert.deepEqual(report.findings, [])
    if (report.notes.length === 0) return
    assert.ok(count < examinationsMax, 'the counters were never judged')
  }
}

/** Nothing in storage belongs to a token that does not exist, and no token lacks any of its rows. */
export const checkStorage = async (count: (fromWhere: string) => Promise<number>): Promise<void> => {
  const sameToken = 'x.tenant = k.tenant AND x.token_id = k.token_id'
  for (const table of ['terms', 'matches', 'transients'])
    assert.equal(
      await count(`${table} x WHERE NOT EXISTS (SELECT 1 FROM tokens k WHERE ${sameToken})`),
      0,
      `${table} without a token`,
    )
  assert.equal(
    await count(`tokens k WHERE NOT EXISTS (SELECT 1 FROM terms x WHERE ${sameToken})`),
    0,
    'tokens without terms',
  )
  assert.equal(
    await count(`api_keys k WHERE NOT EXISTS (SELECT 1 FROM applications x
      WHERE x.tenant = k.tenant AND x.application_id = k.application_id)`),
    0,
    'keys without an application',
  )
}
