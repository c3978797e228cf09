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

/** Resolves at the first of these signals. From then on each of them ends the process at once, as it does by default. */
export const stopSignal = (signals: readonly NodeJS.Signals[]): Promise<void> =>
  new Promise(resolve => {
    const stop = (): void => {
      for (const signal of signals) process.off(signal, stop)
      resolve()
    }
    for (const signal of signals) process.on(signal, stop)
  })
