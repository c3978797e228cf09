import { setLimits } from '../../domain/limits.ts'
import { commands } from '../commands/registry.ts'
import { reportFailure } from '../explain.ts'
import { rememberCall } from '../pasteable.ts'
import { asWorker } from './worker.ts'

/**
 * Runs the whole process of a worker. Resolves with the exit code. The settings come from the primary: a worker may start long
 * after it, and the config file may have changed by then.
 */
export const runWorker = async (): Promise<number> => {
  rememberCall({ commands, args: process.argv.slice(2), environment: process.env })
  try {
    await asWorker(async (config, worker) => {
      setLimits(config.limits)
      const { serveHere } = await import('../commands/serve.ts')
      await serveHere(config, worker)
    })
    return 0
  } catch (error) {
    return reportFailure('serve', error)
  }
}
