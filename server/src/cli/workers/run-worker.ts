import { setLimits } from '../../domain/limits.ts'
import { commands } from '../commands/registry.ts'
import { reportFailure } from '../explain.ts'
import { rememberCall } from '../pasteable.ts'
import { asWorker } from './worker.ts'

/**
 * The whole of a worker's process; resolves with the exit code. What it serves, the primary tells it: a worker may start long
 * after the primary, and the config file may say something else by then.
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
