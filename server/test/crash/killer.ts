import { Worker } from 'node:worker_threads'

/** Starts a thread that can kill the process while another thread is busy. Calling the result kills after the delay. */
export const killer = (delayMs: number): (() => void) => {
  const [isReady, isCalled] = [0, 1]
  const signals = new Int32Array(new SharedArrayBuffer(12))
  const code = `
    const { workerData: { signals, delayMs } } = require('node:worker_threads')
    Atomics.store(signals, ${isReady}, 1)
    Atomics.notify(signals, ${isReady})
    Atomics.wait(signals, ${isCalled}, 0)
    Atomics.wait(signals, 2, 0, delayMs)
    process.kill(process.pid, 'SIGKILL')`
  // An empty environment, so that the killer itself gets no order.
  new Worker(code, { eval: true, workerData: { signals, delayMs }, env: {} }).unref()
  return () => {
    Atomics.wait(signals, isReady, 0)
    Atomics.store(signals, isCalled, 1)
    Atomics.notify(signals, isCalled)
  }
}
