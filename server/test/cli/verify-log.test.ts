import assert from 'node:assert/strict'
import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { leafHash } from '../../src/crypto/merkle.ts'
import { LogEvidence, runVerifier, verifyLines } from '../rig/log-evidence.ts'
import { temporaryFolder } from '../rig/temporary-folder.ts'

const tenant = '0190a1b2-0000-7000-8000-00000000000a'
const other = '0190a1b2-0000-7000-8000-00000000000b'

const folder = temporaryFolder()
after(folder.remove)

/** Two tenants; of ours, writer 0 with 12 records and writer 3 with 4; five checkpoints, each of them anchored. */
const livedIn = () => {
  const log = new LogEvidence()
  const anchor: string[] = []
  const seal = () => void anchor.push(log.checkpoint())
  log.act(tenant, 0, 3).act(other, 0, 2)
  seal()
  log.act(tenant, 0, 4).act(tenant, 3, 2)
  seal()
  log.act(other, 0, 5)
  seal()
  log.act(tenant, 0, 1)
  seal()
  log.act(tenant, 0, 4).act(tenant, 3, 2).act(other, 1, 1)
  seal()
  return { log, anchor }
}

type Lines = string[]
const isRecord = (sequence: string) => (line: string) => line.includes(`"sequence":"${sequence}"`)
const placeOf = (lines: Lines, sequence: string) => lines.findIndex(isRecord(sequence))
const isHeadOf = (writer: number) => (line: string) =>
  line.startsWith('{"head"') && line.includes(`"writer":${writer},`)
const isCheckpoint = (line: string) => line.startsWith('{"checkpoint"')
const edited = (lines: Lines, isIt: (line: string) => boolean, change: (line: string) => string): Lines =>
  lines.map(line => (isIt(line) ? change(line) : line))
const without = (lines: Lines, ...sequences: string[]): Lines =>
  lines.filter(line => !sequences.some(sequence => isRecord(sequence)(line)))
/** Changes the object that a line stands for. */
const rewritten = (
  line: string,
  change: (value: Record<string, Record<string, unknown>>) => void,
): string => {
  const value = JSON.parse(line)
  change(value)
  return JSON.stringify(value)
}
const nthCheckpoint = (lines: Lines, n: number) => lines.filter(isCheckpoint)[n]

type Scenario = {
  readonly name: string
  /** What is made of the export; it may also make something of the vault before. */
  readonly lines: (good: Lines, log: LogEvidence) => Lines
  readonly code: number
  readonly says: RegExp
  readonly isAnchored?: true
}

const scenarios: Scenario[] = [
  // Altered.
  {
    name: 'a record is edited (L6)',
    lines: good => edited(good, isRecord('0.5'), line => line.replace('getToken', 'listTokens')),
    code: 2,
    says: /^altered: tenant \S+a, writer 0, sequence 0\.3 to 0\.6: altered/m,
  },
  {
    name: 'a record is written differently, with the same meaning (L6)',
    lines: good => edited(good, isRecord('3.1'), line => line.replace('{', '{ ')),
    code: 2,
    says: /writer 3, sequence 3\.0 to 3\.1: altered/,
  },
  {
    name: 'a record is re-dated (L6)',
    lines: good => edited(good, isRecord('0.7'), line => line.replace('2026-11-19', '2026-11-18')),
    code: 2,
    says: /writer 0, sequence 0\.7: altered/,
  },
  {
    name: 'a record is dropped (L6)',
    lines: good => without(good, '0.4'),
    code: 2,
    says: /writer 0, sequence 0\.4: missing before line \d+$/m,
  },
  {
    name: 'the first records are dropped (L6)',
    lines: good => without(good, '0.0', '0.1'),
    code: 2,
    says: /sequence 0\.0 to 0\.1: missing before/,
  },
  {
    name: 'a record is dropped, and the later ones are renumbered (L6)',
    lines: good =>
      without(good, '0.11').map(line =>
        line.replace(/"sequence":"0\.(\d+)"/, (_, n) => `"sequence":"0.${Number(n) >= 10 ? 9 : n}"`),
      ),
    code: 2,
    says: /sequence 0\.9: the record comes again/,
  },
  {
    name: 'two records change places (L6)',
    lines: good => good.with(1, good[0]!).with(0, good[1]!),
    code: 2,
    says: /sequence 0\.0: missing before line 1\n.*sequence 0\.0: the record comes again, or too late/,
  },
  {
    name: 'a record comes twice (L6)',
    lines: good => good.toSpliced(placeOf(good, '3.1'), 0, good[placeOf(good, '3.1')]!),
    code: 2,
    says: /writer 3, sequence 3\.1: the record comes again/,
  },
  {
    name: 'a record is added at the end, and sealed by nobody (L6)',
    lines: (good, log) => {
      const more = log.backup().act(tenant, 0, 1)
      more.checkpoint()
      const added = more.export(tenant).find(isRecord('0.12'))!
      return good.toSpliced(good.findLastIndex(isHeadOf(0)) + 1, 0, added)
    },
    code: 3,
    says: /altered: .*sequence 0\.12: added: the vault does not have/,
  },
  {
    name: 'a record of another tenant stands in its place (L6)',
    lines: (good, log) => edited(good, isRecord('0.5'), () => log.export(other).find(isRecord('0.5'))!),
    code: 2,
    says: /^altered: line \d+: record 0\.5 belongs to another tenant$/m,
  },
  {
    name: 'a record of another tenant stands in its place, under our name (L6)',
    lines: (good, log) =>
      edited(good, isRecord('0.5'), () => log.export(other).find(isRecord('0.5'))!.replace(other, tenant)),
    code: 2,
    says: /sequence 0\.3 to 0\.6: altered/,
  },
  {
    name: 'a record without a sequence that is one (L6)',
    lines: good => edited(good, isRecord('0.5'), line => line.replace('0.5', '0.05')),
    code: 2,
    says: /the record has no valid sequence/,
  },
  {
    name: 'a line that no export has (L6)',
    lines: good => good.toSpliced(2, 0, '{"hello":1}'),
    code: 2,
    says: /^altered: line 3: it is no line of an export$/m,
  },
  {
    name: 'an empty line (L6)',
    lines: good => good.toSpliced(2, 0, ''),
    code: 2,
    says: /^altered: line 3: it is no line of an export$/m,
  },
  {
    name: 'lines end as on Windows (L6)',
    lines: good => good.map(line => `${line}\r`),
    code: 2,
    says: /sequence 0\.0 to 0\.2: altered/,
  },
  {
    name: 'a head has the root of altered records (L6)',
    lines: good =>
      edited(good, isHeadOf(3), line =>
        rewritten(line, ({ head }) => Object.assign(head!, { root: leafHash('x').toString('base64') })),
      ),
    code: 2,
    says: /writer 3, sequence 3\.0 to 3\.1: altered[\s\S]*the head of writer 3 at 2 is not in the checkpoint/,
  },
  {
    name: 'a head is older than the one before it (L6)',
    lines: good =>
      good.with(
        good.findLastIndex(isHeadOf(0)),
        rewritten(good.findLast(isHeadOf(0))!, ({ head }) => Object.assign(head!, { index: 0 })),
      ),
    code: 2,
    says: /the head of writer 0 at 12 is older than the one before it/,
  },
  {
    name: 'the proof of a head is another one (L6)',
    lines: good =>
      edited(good, isHeadOf(3), line => rewritten(line, ({ head }) => Object.assign(head!, { proof: [] }))),
    code: 2,
    says: /the head of writer 3 at 2 is not in the checkpoint/,
  },
  {
    name: 'a head lacks its root (L6)',
    lines: good =>
      edited(good, isHeadOf(3), line =>
        rewritten(line, ({ head }) => Object.assign(head!, { root: undefined })),
      ),
    code: 2,
    says: /the head is malformed/,
  },
  {
    name: 'a head comes before its records (L6)',
    lines: good => {
      const at = good.findIndex(isHeadOf(0))
      return good.toSpliced(at, 1).toSpliced(at - 1, 0, good[at]!)
    },
    code: 2,
    says: /sequence 0\.2: the record comes after a head/,
  },
  {
    name: 'a head comes after later records (L6)',
    lines: good => {
      const at = good.findLastIndex(isHeadOf(0))
      const early = good.findIndex(isHeadOf(0))
      return good.toSpliced(at, 0, good[early]!).toSpliced(early, 1)
    },
    code: 2,
    says: /the head of writer 0 at 3 stands after record 0\.11/,
  },
  {
    name: 'a signature is wrong (L6)',
    lines: good => edited(good, isCheckpoint, line => line.replace(/epoch 0/, 'epoch 1 0')),
    code: 3,
    says: /altered: line \d+: the checkpoint is not good: its signature is wrong/,
  },
  {
    name: 'another key has signed (L6)',
    lines: (good, log) =>
      edited(good, isCheckpoint, line => line.replaceAll('vault.example/log', `x${log.signer.name}`)),
    code: 3,
    says: /the checkpoint is not good: it is not signed with this key/,
  },
  {
    name: 'a checkpoint in the middle is dropped (L6)',
    lines: good => good.filter(line => line !== nthCheckpoint(good, 2)),
    code: 2,
    says: /the checkpoint continues one of size 4, but the one before it has size 3/,
  },
  {
    name: 'the end of another tenant is put in place of ours (L6)',
    lines: (good, log) =>
      good.with(good.findLastIndex(isCheckpoint), log.export(other).findLast(isCheckpoint)!),
    code: 3,
    says: /altered: line \d+: the end belongs to the export of another tenant/,
  },
  {
    name: 'several findings: the highest code counts (L6)',
    lines: good => edited(good, isRecord('0.5'), line => line.replace('getToken', 'x')).slice(0, -3),
    code: 3,
    says: /^altered:[\s\S]*^cut:/m,
  },
  // Cut or rolled back.
  {
    name: 'the last line breaks off (L6)',
    lines: good => good.slice(0, placeOf(good, '0.11')),
    code: 3,
    says: /writer 0, sequence 0\.8 to 0\.10: the head that vouches for these records is missing/,
  },
  {
    name: 'all after a checkpoint is cut (L6)',
    lines: good => good.slice(0, good.indexOf(nthCheckpoint(good, 3)!) + 2),
    code: 3,
    says: /^cut: export: its end is missing/m,
  },
  {
    name: 'all from the last heads on is cut (L6)',
    lines: good => good.slice(0, good.findLastIndex(isCheckpoint)),
    code: 3,
    says: /writer 0: the checkpoint that vouches for its head at 12 is missing/,
  },
  {
    name: 'the last record of a writer is cut, and its head is not (L6)',
    lines: good => without(good, '0.11'),
    code: 3,
    says: /^cut: tenant \S+a, writer 0, sequence 0\.11: missing at the end/m,
  },
  {
    name: 'the last records of a writer are cut with their head, and no checkpoint is (L6)',
    lines: good =>
      without(good, '3.2', '3.3').filter(
        (line, at, all) => !isHeadOf(3)(line) || at !== all.findLastIndex(isHeadOf(3)),
      ),
    code: 3,
    says: /^cut: tenant \S+a, writer 3, sequence 3\.2 to 3\.3: missing at the end/m,
  },
  {
    name: 'all of a writer is cut (L6)',
    lines: good => without(good, '3.0', '3.1', '3.2', '3.3').filter(line => !isHeadOf(3)(line)),
    code: 3,
    says: /writer 3, sequence 3\.0 to 3\.3: missing at the end/,
  },
  {
    name: 'the beginning is cut, as if retention had removed it (L6, L7)',
    lines: (good, log) => {
      log.removeBefore(tenant, 0, 5)
      const later = log.export(tenant)
      return later.with(later.findLastIndex(isCheckpoint), good.findLast(isCheckpoint)!)
    },
    code: 3,
    says: /^cut: .*sequence 0\.0 to 0\.4: missing at the beginning, and not removed by retention/m,
  },
  { name: 'nothing is left (L6)', lines: () => [], code: 3, says: /^cut: export: it has no checkpoint/m },
  {
    name: 'only records are left (L6)',
    lines: good => good.filter(line => line.includes('"sequence"')),
    code: 3,
    says: /it has no checkpoint/,
  },
  {
    name: 'the export was made before the newest anchored checkpoint (L4, L6)',
    lines: (good, log) => {
      log.act(tenant)
      log.checkpoint()
      return good
    },
    code: 0,
    says: /^good/,
  },
  // Forked.
  {
    name: 'a checkpoint does not continue the one before it (L6)',
    lines: good =>
      edited(
        good,
        line => line === nthCheckpoint(good, 2),
        line =>
          rewritten(line, ({ checkpoint }) =>
            Object.assign(checkpoint!, {
              proof: (checkpoint!.proof as string[]).with(0, leafHash('x').toString('base64')),
            }),
          ),
      ),
    code: 4,
    says: /^forked: line \d+: the checkpoint of size 4 does not continue the one of size 3$/m,
  },
  // Good.
  {
    name: 'nothing was changed (L6)',
    lines: good => good,
    code: 0,
    says: /^good: tenant \S+a: 16 records, complete at checkpoint/,
  },
  {
    name: 'nothing was changed, beside the anchor (L6)',
    lines: good => good,
    code: 0,
    says: /^good/,
    isAnchored: true,
  },
  {
    name: 'writers are mixed (L6)',
    lines: good => {
      const at = placeOf(good, '3.2')
      return good.toSpliced(at, 1).toSpliced(placeOf(good, '0.9'), 0, good[at]!)
    },
    code: 0,
    says: /^good/,
  },
  {
    name: 'retention has removed the oldest records of a writer, and all of another (L7)',
    lines: (_, log) => {
      log.removeBefore(tenant, 0, 5)
      log.removeBefore(tenant, 3, 4)
      return log.export(tenant)
    },
    code: 0,
    says: /^good: tenant \S+a: 7 records, .* Retention has removed what came before 0\.5, 3\.4\./,
    isAnchored: true,
  },
  {
    name: 'an export and what it was resumed with (L5)',
    lines: (good, log) => {
      log.act(tenant, 0, 2).act(tenant, 7, 1)
      log.checkpoint()
      return [...good, ...log.export(tenant, { after: 4 })]
    },
    code: 0,
    says: /^good: tenant \S+a: 19 records/,
    isAnchored: true,
  },
  {
    name: 'an export that is resumed when nothing has happened (L5)',
    lines: (good, log) => [
      ...good,
      ...log
        .export(tenant, { after: 3 })
        .filter(isCheckpoint)
        .map(line => rewritten(line, ({ checkpoint }) => Object.assign(checkpoint!, { from: 8, proof: [] }))),
    ],
    code: 0,
    says: /^good/,
  },
  {
    name: 'a tenant without any record (L6)',
    lines: (_, log) => log.export('nobody'),
    code: 0,
    says: /^good: tenant nobody: 0 records/,
  },
]

describe('the verifier of exports', () => {
  for (const { name, lines, code, says, isAnchored } of scenarios)
    test(name, () => {
      const { log, anchor } = livedIn()
      const changed = lines(log.export(tenant), log)
      const verdict = verifyLines(folder.path, log.key, changed, isAnchored && anchor)
      assert.match(verdict.stdout, says)
      assert.equal(verdict.code, code, verdict.stdout)
      assert.equal(verdict.stderr, '')
      // Whoever may see a verdict may not be allowed to see records.
      for (const content of ['getToken', 'listTokens', 'Zoë']) assert.ok(!verdict.stdout.includes(content))
    })
})
