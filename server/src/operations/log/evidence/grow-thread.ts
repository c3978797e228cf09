import type { KeyObject } from 'node:crypto'
import { parentPort, workerData } from 'node:worker_threads'
import { LogSeal } from '../../../crypto/log-seal.ts'
import { TamperedError } from '../../../domain/tampered-error.ts'
import { type Growth, grow } from './grow.ts'
import type { GrowAnswer } from './grower.ts'

const seal = new LogSeal((workerData as { key: KeyObject }).key)

/** What was posted are bytes; trees are made of buffers. */
const asBuffers = (edge: readonly Uint8Array[]): Buffer[] => edge.map(hash => Buffer.from(hash))

parentPort?.on('message', (growth: Growth) => {
  let answer: GrowAnswer
  try {
    answer = { grown: grow(seal, { ...growth, edge: asBuffers(growth.edge) }) }
  } catch (error) {
    answer = { isTampered: error instanceof TamperedError }
  }
  parentPort?.postMessage(answer)
})
