import cluster, { type Worker } from 'node:cluster'
import type { Config } from '../config.ts'
import { baseUrl } from './edge.ts'
import { restarts } from './restarts.ts'
import { makeLog } from './run-service.ts'
import { numberVariable } from './worker.ts'

type Place = { readonly number: number; readonly startedAt: number; isReady: boolean; missedRenewal: boolean }

/**
 * Runs `count` processes that share the port, until it is told to stop; resolves with the exit code. Connections
 * are handed out in turn. A worker that dies is replaced; one that the primary leaves behind ends by itself.
 */
export const runWorkers = (config: Config, count: number): Promise<number> =>
  new Promise(resolve => {
    const log = makeLog(config)
    const restart = restarts()
    const places = new Map<Worker, Place>()
    const ready = (): Place[] => [...places.values()].filter(({ isReady }) => isReady)
    let isStarted = false
    let isStopping = false
    let exitCode = 0

    const start = (number: number): void => {
      if (isStopping) return
      const worker = cluster.fork({ [numberVariable]: number })
      places.set(worker, { number, startedAt: performance.now(), isReady: false, missedRenewal: false })
    }

    const stop = (code: number): void => {
      isStopping = true
      exitCode = code
      for (const worker of places.keys()) worker.process.kill('SIGTERM')
      if (places.size === 0) resolve(exitCode)
    }

    cluster.on('listening', (worker, { port }) => {
      const place = places.get(worker)
      if (place === undefined) return
      place.isReady = true
      if (place.missedRenewal) worker.process.kill('SIGHUP')
      if (isStarted) return
      // The first one prepares storage and proves that the settings work; the others follow together.
      if (places.size === 1) for (let number = 2; number <= count; number++) start(number)
      if (ready().length < count) return
      isStarted = true
      log.info({ url: baseUrl(config, port), workers: count }, 'listening')
    })

    cluster.on('exit', (worker, code, signal) => {
      const place = places.get(worker)
      places.delete(worker)
      if (place === undefined) return
      if (isStopping) {
        // One that had not learned to drain yet ends by the signal itself.
        if (code !== 0 && signal !== 'SIGTERM') exitCode ||= 1
        if (places.size === 0) resolve(exitCode)
        return
      }
      const { number, startedAt, isReady: wasReady } = place
      // It has said itself what is wrong, in the words of a server that runs alone.
      if (!isStarted && !wasReady && signal === null) return stop(code || 1)
      const lived = { livedMs: performance.now() - startedAt, wasReady }
      const waitMs = restart.ended(lived, { areReady: ready().length > 0 })
      if (waitMs === 'giveUp') {
        log.error({ worker: number, code, signal }, 'workers end before they are ready')
        return stop(1)
      }
      log.error({ worker: number, code, signal, wait_ms: waitMs }, 'a worker ended and is replaced')
      setTimeout(start, waitMs, number)
    })

    for (const signal of ['SIGINT', 'SIGTERM'] as const)
      process.once(signal, () => {
        log.info({}, 'draining')
        stop(0)
      })
    process.on('SIGHUP', () => {
      for (const [worker, place] of places)
        if (place.isReady) worker.process.kill('SIGHUP')
        else place.missedRenewal = true
    })
    start(1)
  })
