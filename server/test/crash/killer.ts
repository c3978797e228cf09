import { Worker } from 'node:worker_threads'

/** A thread that waits to kill the process while another one is busy; called, it does so after the delay. */
export const killer = (delayMs: number): (() => void) => {
  const called = new Int32Array(new SharedArrayBuffer(8))
  const code = `
    const { workerData: { called, delayMs } } = require('node:worker_threads')
    Atomics.wait(called, 0, 0)
    Atomics.wait(called, 1, 0, delayMs)
    process.kill(process.pid, 'SIGKILL')`
  // An empty environment: the killer gets no order itself.
  new Worker(code, { eval: true, workerData: { called, delayMs }, env: {} }).unref()
  return () => {
    Atomics.store(called, 0, 1)
    Atomics.notify(called, 0)
  }
}
