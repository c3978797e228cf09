/** Calls the listener at each SIGHUP and, if any came before there was one, once for those. */
export type HangUps = (listener: () => void) => void

/** Notes SIGHUP from now on. A service takes a while to be built, and what it is told meanwhile would be lost. */
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

/** Resolves at the first of these signals. From then on each of them ends the process at once, as it does by default. */
export const stopSignal = (signals: readonly NodeJS.Signals[]): Promise<void> =>
  new Promise(resolve => {
    const stop = (): void => {
      for (const signal of signals) process.off(signal, stop)
      resolve()
    }
    for (const signal of signals) process.on(signal, stop)
  })
