import type { Command } from './command.ts'
import { checks, type Finding } from './doctor-checks.ts'
import { print } from './print.ts'

export const doctor: Command = {
  name: 'doctor',
  summary:
    'Check storage, keys, permissions of files, clock and limits; each finding comes with the next command',
  flags: { json: 'print JSON' },
  run: async ({ config, flags }) => {
    const findings: Finding[] = []
    for (const check of checks) {
      const found = await check({ config, now: Date.now() })
      findings.push(...found)
      // What follows would only repeat that storage or its key cannot be used.
      if (found.some(({ blocks }) => blocks)) break
    }
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
