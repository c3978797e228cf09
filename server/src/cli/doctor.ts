import type { Config } from '../config/config.ts'
import { ConfigError } from '../config/config-error.ts'
import type { Invocation, Run } from './command.ts'
import { examine, orDamage } from './doctor/examine.ts'
import type { DeepOptions } from './doctor/examine-deep.ts'
import type { Finding, Repair } from './doctor/finding.ts'
import { thisMachine } from './doctor/machine.ts'
import { tlsNotes } from './doctor/tls-check.ts'
import { print } from './print.ts'
import { configuredStorage } from './storage/configured-storage.ts'

export const doctor: Run = async invocation => {
  const { config, flags } = invocation
  const deep = deepOptions(invocation)
  const context = { config, machine: thisMachine }
  const findings: Finding[] = []
  const repairs: Repair[] = []
  const tell = (): void =>
    print(
      flags.json,
      [
        ...repairs.map(told => ({ ...told, repaired: true })),
        ...findings.map(({ blocks: _, ...told }) => told),
      ],
      [
        `in ${configuredStorage(config).name}:`,
        ...repairs.map(({ check, problem }) => `repaired: ${check}: ${problem}`),
        ...findings.map(asText),
        ...(findings.length > 0 ? [] : [repairs.length === 0 ? 'no problems found' : 'no problems left']),
      ].join('\n'),
    )
  try {
    await examine(context, findings)
    if (deep !== undefined) {
      if (findings.some(({ blocks }) => blocks))
        process.stderr.write('strongroom doctor: it has not looked at tokens: this must be repaired first\n')
      else await lookDeeply(config, deep, findings, repairs)
    }
  } catch (error) {
    // The findings so far may be the cause, and are what to repair first.
    if (findings.length + repairs.length > 0) tell()
    throw error
  }
  tell()
  for (const note of tlsNotes(context)) process.stderr.write(`strongroom doctor: ${note}\n`)
  return findings.length === 0 ? 0 : 1
}

const lookDeeply = async (
  config: Config,
  deep: DeepOptions,
  findings: Finding[],
  repairs: Repair[],
): Promise<void> => {
  // Loaded on demand: opening tokens takes half of all code.
  const { examineDeep } = await import('./doctor/examine-deep.ts')
  const damage = await orDamage(config, async () => {
    const { notes } = await examineDeep(config, deep, findings, repairs)
    for (const note of notes) process.stderr.write(`strongroom doctor: ${note}\n`)
    return []
  })
  findings.push(...damage)
}

const asText = (finding: Finding): string =>
  [
    `${finding.check}: ${finding.problem}`,
    ...(finding.first === undefined ? [] : [`first: ${finding.first}`]),
    'command' in finding ? finding.command : `by hand: ${finding.byHand}`,
  ].join('\n  ')

const deepOptions = ({ flags, options }: Invocation): DeepOptions | undefined => {
  const { sample } = options
  if (!flags.deep) {
    if (flags.repair || sample !== undefined) throw new ConfigError('--repair and --sample need --deep')
    return undefined
  }
  if (sample === undefined) return { repair: flags.repair === true }
  if (!/^[1-9]\d{0,8}$/.test(sample)) throw new ConfigError('--sample must be a number from 1 on')
  if (flags.repair) throw new ConfigError('--repair needs all tokens: leave out --sample')
  return { sample: Number(sample), repair: false }
}
