/** A request waits for so many others at most; what more would gain is less than could be measured. */
const togetherMax = 16
/** A request with a longer body is work enough by itself: others would wait for it, and all bodies be held at once. */
const bodyBytesTogether = 8_192

/**
 * Resolves when the turn of the event loop ends: requests that arrive together are worked on together, step by step. All
 * are read off their sockets, then all rows are read, then all are opened, then all are answered. One request
 * after the other, each step would find the processor's caches filled with the code of all others, and cost
 * half as much again.
 */
export const endOfTurn = (): ((bodyBytes: number) => Promise<void>) => {
  let ending: Promise<void> | undefined
  let together = 0
  return bodyBytes => {
    const isAlone = bodyBytes > bodyBytesTogether
    if (ending === undefined || together >= togetherMax || isAlone) {
      together = 0
      const group = new Promise<void>(resolve =>
        setImmediate(() => {
          if (ending === group) ending = undefined
          resolve()
        }),
      )
      ending = group
    }
    together = isAlone ? togetherMax : together + 1
    return ending
  }
}
