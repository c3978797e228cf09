import { explain, isWronglyCalled } from './explain.ts'

/** Says in one line on standard error why the command failed; returns the exit code. */
export const reportFailure = (command: string, error: unknown): 1 | 2 => {
  process.stderr.write(`strongroom ${command}: ${explain(error)}\n`)
  return isWronglyCalled(error) ? 2 : 1
}
