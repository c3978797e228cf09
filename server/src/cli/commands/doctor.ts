import type { Config } from '../../config/config.ts'
import { ConfigError } from '../../config/config-error.ts'
import type { Invocation, Run } from '../command.ts'
import { examine, reportDamage } from '../doctor/examine.ts'
import type { DeepOptions } from '../doctor/examine-deep.ts'
import { findingJson, findingText } from '../doctor/finding-text.ts'
import { thisMachine } from '../doctor/machine.ts'
import { Report } from '../doctor/report.ts'
import { tlsNotes } from '../doctor/tls-check.ts'
import { print, printNote } from '../print.ts'
import { configuredStorage } from '../storage/configured-storage.ts'

export const doctor: Run = async invocation => {
  const { config, flags } = invocation
  const deep = deepOptions(invocation)
  const context = { config, machine: thisMachine }
  const report = new Report()
  const { findings, repairs, notes } = report
  const tell = (): void =>
    print(
      flags.json,
      [...repairs.map(told => ({ ...told, repaired: true })), ...findings.map(findingJson)],
      [
        `in ${configuredStorage(config).name}:`,
        ...repairs.map(({ check, problem }) => `repaired: ${check}: ${problem}`),
        ...findings.map(findingText),
        ...(findings.length > 0 ? [] : [repairs.length === 0 ? 'no problems found' : 'no problems left']),
        ...(report.verifierKey === undefined ? [] : [`the public key of the log: ${report.verifierKey}`]),
      ].join('\n'),
    )
  try {
    await examine(context, report)
    if (deep !== undefined) await lookDeeply(config, deep, report)
  } catch (error) {
    // The findings so far may be the cause and must be repaired first.
    if (findings.length + repairs.length > 0) tell()
    throw error
  }
  notes.push(...tlsNotes(context))
  tell()
  for (const note of notes) printNote('doctor', note)
  return findings.length === 0 ? 0 : 1
}

const lookDeeply = async (config: Config, deep: DeepOptions, report: Report): Promise<void> => {
  if (report.isBlocked) {
    report.notes.push('it has not looked at tokens: this must be repaired first')
    return
  }
  // Loaded on demand: opening tokens needs half of all code.
  const { examineDeep } = await import('../doctor/examine-deep.ts')
  await reportDamage(config, report, () => examineDeep(config, deep, report))
}

const deepOptions = ({ flags, options }: Invocation): DeepOptions | undefined => {
  const { sample } = options
  if (!flags.deep) {
    if (flags.repair || sample !== undefined) throw new ConfigError('--repair and --sample need --deep')
    return undefined
  }
  if (sample === undefined) return { repair: flags.repair === true }
  if (!/^[1-9]\d{0,8}$/.test(sample)) throw new ConfigError('--sample must be a number from 1 on')
  if (flags.repair) throw new ConfigError('--repair needs all tokens: leave out --sample')
  return { sample: Number(sample) }
}
