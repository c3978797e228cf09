import { asCalled } from '../pasteable.ts'
import type { Finding } from './finding.ts'

/** For people, with the command that makes it good. */
export const findingText = (finding: Finding): string =>
  [
    `${finding.check}: ${finding.problem}`,
    ...(finding.first === undefined ? [] : [`first: ${finding.first}`]),
    asCalled('command' in finding ? finding.command : `by hand: ${finding.byHand}`),
  ].join('\n  ')

/** For programs. */
export const findingJson = ({ blocks: _, ...told }: Finding): Record<string, string> =>
  'command' in told ? { ...told, command: asCalled(told.command) } : told
