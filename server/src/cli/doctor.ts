import type { Command } from './command.ts'
import { examine } from './doctor-checks.ts'
import { thisMachine } from './machine.ts'
import { print } from './print.ts'

export const doctor: Command = {
  name: 'doctor',
  summary:
    'Check storage, keys, permissions of files, clock and limits; each finding comes with the next command',
  flags: { json: 'print JSON' },
  run: async ({ config, flags }) => {
    const findings = await examine({ config, machine: thisMachine })
    print(
      flags.json,
      findings.map(({ check, problem, command }) => ({ check, problem, command })),
      findings.length === 0
        ? 'nothing to mend'
        : findings.map(({ check, problem, command }) => `${check}: ${problem}\n  ${command}`).join('\n'),
    )
    return findings.length === 0 ? 0 : 1
  },
}
