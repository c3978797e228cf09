import assert from 'node:assert/strict'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
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
    name: 'a record is written differently, with the same meaning (L6.3, L6.4)',
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
      without(good, '0.5').map(line =>
        line.replace(/"sequence":"0\.(\d+)"/, (_, n) => `"sequence":"0.${n > 5 ? n - 1 : n}"`),
      ),
    code: 3,
    says: /^altered: .*sequence 0\.6: the record comes after a head[\s\S]*^cut: .*sequence 0\.11: missing at the end/m,
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
    name: 'lines end as on Windows (L6.4)',
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
    name: 'a head of another tenant (L6)',
    lines: (good, log) => good.toSpliced(1, 0, log.export(other).find(isHeadOf(0))!),
    code: 2,
    says: /^altered: line 2: the head belongs to another tenant$/m,
  },
  {
    name: 'a checkpoint lacks its proof (L6)',
    lines: good =>
      edited(
        good,
        line => line === nthCheckpoint(good, 2),
        line => rewritten(line, ({ checkpoint }) => Object.assign(checkpoint!, { proof: undefined })),
      ),
    code: 2,
    says: /^altered: line \d+: the checkpoint is malformed$/m,
  },
  {
    name: 'a line that is longer than any record (L6)',
    lines: good => good.toSpliced(1, 0, 'x'.repeat(17 * 2 ** 20)),
    code: 2,
    says: /^altered: line 2: the line is too long for an export$/m,
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
    code: 2,
    says: /altered: line \d+: the checkpoint is not good: its signature is wrong/,
  },
  {
    name: 'another key has signed (L6)',
    lines: (good, log) =>
      edited(good, isCheckpoint, line => line.replaceAll('vault.example/log', `x${log.signer.name}`)),
    code: 2,
    says: /the checkpoint is not good: it is not signed with this key/,
  },
  {
    name: 'a checkpoint in the middle is dropped (L6)',
    lines: good => good.filter(line => line !== nthCheckpoint(good, 2)),
    code: 2,
    says: /the checkpoint continues one of size 5, but the one before it has size 4/,
  },
  {
    name: 'the end of another tenant is put in place of ours (L6)',
    lines: (good, log) =>
      good.with(good.findLastIndex(isCheckpoint), log.export(other).findLast(isCheckpoint)!),
    code: 3,
    says: /altered: line \d+: the end belongs to the export of another tenant/,
  },
  {
    name: 'several findings: the highest code counts (L6.3)',
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
    name: 'all after a checkpoint is cut (L6.3)',
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
    name: 'a checkpoint follows a newer one (L6)',
    lines: good => [...good, nthCheckpoint(good, 0)!],
    code: 3,
    says: /^cut: line \d+: a checkpoint of size 2 follows one of size 9 in the same epoch$/m,
  },
  // Forked.
  {
    name: 'a checkpoint does not continue the one before it (L6.3)',
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
    says: /^forked: line \d+: the checkpoint of size 5 does not continue the one of size 4$/m,
  },
  // Good.
  {
    name: 'nothing was changed (L6.2, L6.3)',
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
        .map(line => rewritten(line, ({ checkpoint }) => Object.assign(checkpoint!, { from: 9, proof: [] }))),
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

/** A backup, from which two futures begin. The anchor belongs to the first. */
const twoFutures = () => {
  const { log, anchor } = livedIn()
  const restored = log.backup()
  log.act(tenant, 0, 2)
  anchor.push(log.checkpoint())
  return { log, restored, anchor, seal: () => restored.act(tenant, 0, 1, 'otherFuture').checkpoint() }
}

type AnchorScenario = {
  readonly name: string
  readonly make: () => { log: LogEvidence; lines?: string[]; anchor: string[] }
  readonly code: number
  readonly says: RegExp
}

const anchorScenarios: AnchorScenario[] = [
  {
    name: 'an export that is older than the anchor was cut, or storage was rolled back (L4, L6)',
    make: () => {
      const { restored, anchor } = twoFutures()
      return { log: restored, anchor }
    },
    code: 3,
    says: /^cut: anchor: the export ends at checkpoint 9, and the anchor at 10: it was cut, or storage was rolled back/,
  },
  {
    name: "an export without the anchor's newest checkpoint does not show that it continues it (L6)",
    make: () => {
      const { log, anchor } = twoFutures()
      log.act(tenant)
      log.checkpoint()
      return { log, lines: log.export(tenant, { leaveOut: 5 }), anchor }
    },
    code: 3,
    says: /^cut: anchor: its newest checkpoint, of size 10, is not in the export/,
  },
  {
    name: 'two futures of one backup: the other one reached the same size (L4, L6)',
    make: () => {
      const { restored, anchor, seal } = twoFutures()
      seal()
      return { log: restored, anchor }
    },
    code: 4,
    says: /^forked: anchor: its checkpoint of size 10 is not the one in the export/,
  },
  {
    name: 'two futures of one backup: the other one has gone further (L4, L6)',
    make: () => {
      const { restored, anchor, seal } = twoFutures()
      seal()
      seal()
      return { log: restored, anchor }
    },
    code: 4,
    says: /^forked: anchor: its checkpoint of size 10/,
  },
  {
    name: 'two futures of one backup: an export resumed from the other one (L5, L6)',
    make: () => {
      const { log, restored, seal, anchor } = twoFutures()
      seal()
      seal()
      const lines = [...log.export(tenant), ...restored.export(tenant, { after: 5 })]
      return { log, lines, anchor }
    },
    code: 4,
    says: /^forked: line \d+: the checkpoint of size 11 does not continue the one of size 10/m,
  },
  {
    name: 'two futures of one backup: an export has the same checkpoint of both (L5, L6)',
    make: () => {
      const { log, restored, seal, anchor } = twoFutures()
      seal()
      return { log, lines: [...log.export(tenant), restored.export(tenant).findLast(isCheckpoint)!], anchor }
    },
    code: 4,
    says: /^forked: line \d+: two signed checkpoints of size 10 differ/m,
  },
  {
    name: 'two futures that both wrote to the anchor (L4, L6)',
    make: () => {
      const { log, anchor, seal } = twoFutures()
      return { log, anchor: [...anchor, seal()] }
    },
    code: 4,
    says: /^forked: anchor, checkpoint 7: two signed checkpoints of size 10 differ/,
  },
  {
    name: 'a rollback that the operator accepted is no fork, and is told (L4)',
    make: () => {
      const { restored, anchor, seal } = twoFutures()
      restored.acceptRollback()
      return { log: restored, anchor: [...anchor, seal(), seal()] }
    },
    code: 0,
    says: /^good: .* Rollbacks accepted by the operator: 1\./,
  },
  {
    name: 'a rollback that the operator accepted after the last anchored checkpoint (L4)',
    make: () => {
      const { restored, anchor, seal } = twoFutures()
      restored.acceptRollback()
      seal()
      return { log: restored, anchor }
    },
    code: 0,
    says: /^note: an accepted rollback gave up what followed checkpoint 9; the anchor was at 10\ngood/,
  },
  {
    name: 'an export can be resumed after an accepted rollback that took none of its records (L4, L5)',
    make: () => {
      const { log, anchor } = livedIn()
      const restored = log.backup()
      log.act(other)
      anchor.push(log.checkpoint())
      restored.acceptRollback()
      anchor.push(restored.act(tenant).checkpoint())
      return { log, lines: [...log.export(tenant), ...restored.export(tenant, { after: 4 })], anchor }
    },
    code: 0,
    says: /^note: line \d+: epoch 1 began with an accepted rollback; what followed checkpoint 9 was given up\ngood/,
  },
  {
    name: 'an export of the future that an accepted rollback gave up (L4, L6)',
    make: () => {
      const { log, restored, anchor, seal } = twoFutures()
      restored.acceptRollback()
      return { log, anchor: [...anchor, seal()] }
    },
    code: 3,
    says: /^cut: anchor: the export ends in epoch 0, and the anchor in epoch 1/,
  },
  {
    name: 'an accepted rollback does not excuse another past (L4, L6)',
    make: () => {
      const { log, anchor } = livedIn()
      const forged = new LogEvidence(log.signer.privateKey)
      for (const _ of anchor) {
        forged.act(tenant, 0, 1).act(other, 0, 1)
        forged.checkpoint()
      }
      forged.acceptRollback()
      forged.act(tenant)
      forged.checkpoint()
      return { log: forged, anchor }
    },
    code: 4,
    says: /^forked: anchor: its checkpoint of size 2/m,
  },
  {
    name: 'two futures that both accepted a rollback, from different checkpoints (L4, L6)',
    make: () => {
      const { log, restored, anchor, seal } = twoFutures()
      restored.acceptRollback()
      seal()
      log.acceptRollback()
      log.act(tenant)
      return { log: restored, anchor: [...anchor, log.checkpoint()] }
    },
    code: 4,
    says: /^forked: anchor: it disagrees with the export about where an epoch began/m,
  },
  {
    name: 'the epoch goes back (L4, L6)',
    make: () => {
      const { log, restored, anchor, seal } = twoFutures()
      restored.acceptRollback()
      const accepted = seal()
      log.act(tenant)
      return { log, anchor: [...anchor, accepted, log.checkpoint()] }
    },
    code: 4,
    says: /^forked: anchor, checkpoint 8: epoch 0 follows epoch 1/,
  },
  {
    name: 'a checkpoint of the anchor is altered (L6)',
    make: () => {
      const { log, anchor } = livedIn()
      return { log, anchor: anchor.with(2, anchor[2]!.replace('\n5\n', '\n6\n')) }
    },
    code: 2,
    says: /^altered: anchor, checkpoint 3: its signature is wrong/,
  },
  {
    name: 'something else stands in the anchor (L6)',
    make: () => {
      const { log, anchor } = livedIn()
      return { log, anchor: [...anchor, 'hello\n\nhello\n', log.checkpoint()] }
    },
    code: 2,
    says: /^altered: anchor, checkpoint 6: /,
  },
  {
    name: 'the last note of the anchor broke off, as when a machine loses power (L4)',
    make: () => {
      const { log, anchor } = livedIn()
      return { log, anchor: [...anchor, log.checkpoint().slice(0, -20)] }
    },
    code: 0,
    says: /^good/,
  },
]

describe('the verifier of exports, beside an anchor', () => {
  for (const { name, make, code, says } of anchorScenarios)
    test(name, () => {
      const { log, lines = log.export(tenant), anchor } = make()
      const verdict = verifyLines(folder.path, log.key, lines, anchor)
      assert.match(verdict.stdout, says)
      assert.equal(verdict.code, code, verdict.stdout)
      assert.equal(verdict.stderr, '')
    })
})

describe('the program that verifies exports', () => {
  const { log, anchor } = livedIn()
  const lines = log.export(tenant)
  const exported = join(folder.path, 'good.ndjson')
  writeFileSync(exported, lines.map(line => `${line}\n`).join(''))
  const empty = join(folder.path, 'empty')
  writeFileSync(empty, '')

  const misuses: Record<string, string[]> = {
    'no arguments': [],
    'no key': [exported],
    'no export': ['--key', log.key],
    'a misspelt option': [exported, '--kee', log.key],
    'two exports': [exported, exported, '--key', log.key],
    'a key with a typing error': [exported, '--key', log.key.replace('vault', 'vualt')],
    'an export that does not exist': [`${exported}x`, '--key', log.key],
    'an export that is a folder': [folder.path, '--key', log.key],
    'an anchor that does not exist': [exported, '--key', log.key, '--anchor', `${exported}x`],
    'an anchor without any checkpoint': [exported, '--key', log.key, '--anchor', empty],
  }
  for (const [name, args] of Object.entries(misuses))
    test(`wrong usage is no tampering: ${name} (L6.3)`, () => {
      const { code, stdout, stderr } = runVerifier(args)
      assert.deepEqual({ code, stdout }, { code: 1, stdout: '' })
      assert.match(stderr, /^verify-log: /)
    })

  test('it is one file that runs anywhere, as a script or as a module (L6.2)', () => {
    for (const name of ['verify-log.js', 'verify-log.cjs', 'verify-log.mjs']) {
      const copy = join(folder.path, name)
      copyFileSync(join(import.meta.dirname, '../../bin/verify-log.js'), copy)
      assert.equal(runVerifier([exported, '--key', log.key], undefined, copy).code, 0, name)
    }
  })

  test('it reads standard input, and finds that the last line breaks off (L6)', () => {
    const text = readFileSync(exported, 'utf8')
    const run = (input: string) => runVerifier(['-', '--key', log.key], input)
    assert.match(run(text).stdout, /^good/)
    const { code, stdout } = run(text.slice(0, -5))
    assert.equal(code, 3)
    assert.match(stdout, /^cut: line \d+: the export breaks off in this line/)
  })

  test('with edges, each altered part is named, and what lies between is not (L6)', () => {
    const changed = log
      .export(tenant, { edges: true })
      .map(line => ([isRecord('0.1'), isRecord('0.9')].some(isIt => isIt(line)) ? `${line} ` : line))
    const { code, stdout } = verifyLines(folder.path, log.key, changed, anchor)
    assert.equal(code, 2)
    assert.deepEqual(
      [...stdout.matchAll(/sequence (.*): altered/g)].map(([, range]) => range),
      ['0.0 to 0.2', '0.8 to 0.11'],
    )
  })

  test('without findings it prints one line (L6)', () => {
    const { stdout } = verifyLines(folder.path, log.key, lines, anchor)
    assert.match(stdout, /^good: [^\n]+\n$/)
  })
})
