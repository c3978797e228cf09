/** Calls the listener at each SIGHUP. If any came before there was a listener, it is called once for them. */
export type HangUps = (listener: () => void) => void

/** Notes SIGHUP from now on. Building a service takes a while, and signals in that time would be lost. */
export const noteHangUps = (): HangUps => {
  let wereMissed = false
  let heard = (): void => {
    wereMissed = true
  }
  process.on('SIGHUP', () => heard())
  return listener => {
    heard = listener
    if (wereMissed) listener()
  }
}

/**
 * Resolves at the first of these signals, or when npm is gone that started this process. From then on each of the signals ends the
 * process at once, as it does by default.
 */
export const stopSignal = (signals: readonly NodeJS.Signals[]): Promise<void> =>
  new Promise(resolve => {
    const stop = (): void => {
      for (const signal of signals) process.off(signal, stop)
      stopWatching()
      resolve()
    }
    const stopWatching = whenNpmIsGone(stop)
    for (const signal of signals) process.on(signal, stop)
  })

const lookMs = 250

/**
 * npm and npx end at once on SIGTERM, and tell the program that they run nothing: it would go on, and keep its port. So it stops with
 * the process that started it. Not with an npm script that leaves it in the background, whose shell ends by itself.
 */
const whenNpmIsGone = (gone: () => void): (() => void) => {
  const { npm_lifecycle_script: script } = process.env
  if (script === undefined || script.includes('&') || process.connected) return () => {}
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid !== parent) gone()
  }, lookMs)
  timer.unref()
  return () => clearInterval(timer)
}
