/** Resolves at the first of these signals. From then on each of them ends the process at once, as it does by default. */
export const stopSignal = (signals: readonly NodeJS.Signals[]): Promise<void> =>
  new Promise(resolve => {
    const stop = (): void => {
      for (const signal of signals) process.off(signal, stop)
      resolve()
    }
    for (const signal of signals) process.on(signal, stop)
  })
