import { rmSync } from 'node:fs'

/** The folder in which a command prepares something, and which no end of it leaves behind. */
export const removeFolder = (workshop: string): void =>
  rmSync(workshop, { recursive: true, force: true, maxRetries: 10 })

/** The process then ends by the signal itself. An ordinary exit would wait for the engine. */
export const removeOnSignal = (workshop: string): (() => void) => {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const
  const stopWatching = (): void => {
    for (const signal of signals) process.off(signal, end)
  }
  const end = (signal: NodeJS.Signals): void => {
    stopWatching()
    try {
      removeFolder(workshop)
    } finally {
      process.kill(process.pid, signal)
    }
  }
  for (const signal of signals) process.on(signal, end)
  return stopWatching
}
