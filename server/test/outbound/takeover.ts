import { setTimeout as sleep } from 'node:timers/promises'
import { answerBytes } from '../rig/destination.ts'
import type { Scenario, Server } from './scene.ts'

const host = 'hooks.partner.example'
const kills = 3
const writeEveryMs = 50
/** Of writes on a node that nobody kills, before each kill and after another has taken over. */
const steadyMs = 6_000
const firstAttemptMaxMs = 2_000
const takeoverMaxMs = 30_000

/**
 * E4: the node that delivers is killed, again and again, while another one takes writes. It must be told of each write within two
 * seconds, and within thirty of a death.
 */
export const takeover: Scenario = {
  name: 'takeover',
  engines: ['sqlite', 'postgres'],
  happen: async (scene, say) => {
    const destination = await scene.destination(host)
    /** When each token was told first. */
    const toldAt = new Map<string, number>()
    let again = 0
    destination.reply = (socket, { body }) => {
      destination.requests.length = 0
      const { event } = JSON.parse(body.toString())
      const { id } = event.data.token
      if (toldAt.has(id)) again++
      else toldAt.set(id, performance.now())
      socket.write(answerBytes('', { status: '204 X' }))
    }
    const first = await scene.serve()
    const { api_key, management_api_key } = await scene.tenant('Takeover')
    await scene.ask(first.url, 'POST', '/webhooks', management_api_key, {
      name: 'Receiver',
      url: `https://${host}:${destination.port}/hook`,
      events: ['token.created'],
    })
    const doneAt = new Map<string, number>()
    let server = first
    let isOver = false
    const write = async (): Promise<void> => {
      const token = { type: 'token', data: 'x' }
      const { id } = await scene.ask(server.url, 'POST', '/tokens', api_key, token)
      doneAt.set(id, performance.now())
    }
    /** Writes on one node go on until they are told to move to another. */
    const writing = (async () => {
      while (!isOver) {
        await write()
        await sleep(writeEveryMs)
      }
    })()
    const untilToldSince = async (since: number, maxMs: number): Promise<number | undefined> => {
      const begun = performance.now()
      while (performance.now() - begun < maxMs) {
        const told = [...doneAt].find(([id, at]) => at > since && toldAt.has(id))
        if (told !== undefined) return (toldAt.get(told[0]) ?? 0) - since
        await sleep(10)
      }
      return undefined
    }
    const complaints: string[] = []
    /** From a death until everything from before the takeover was told. */
    const deaths: { from: number; until: number }[] = []
    const takeovers: number[] = []
    let delivering: Server = first
    await untilToldSince(performance.now(), takeoverMaxMs)
    const begun = performance.now()
    for (let kill = 0; kill < kills; kill++) {
      await sleep(steadyMs)
      // Alone until now, so it has the lease.
      const other = await scene.serve()
      server = other
      await sleep(steadyMs)
      const from = performance.now()
      delivering.child.kill('SIGKILL')
      await delivering.exited
      const tookMs = await untilToldSince(from, takeoverMaxMs)
      if (tookMs === undefined) {
        complaints.push(`nobody took over from node ${kill + 1}`)
        break
      }
      takeovers.push(tookMs)
      await sleep(firstAttemptMaxMs)
      deaths.push({ from: from - firstAttemptMaxMs, until: performance.now() })
      delivering = other
    }
    await sleep(steadyMs)
    isOver = true
    await writing
    const since = performance.now()
    const missing = (): string[] => [...doneAt.keys()].filter(id => !toldAt.has(id))
    while (missing().length > 0 && performance.now() - since < takeoverMaxMs) await sleep(20)
    if (missing().length > 0) complaints.push(`${missing().length} events were not told`)
    const waits = [...doneAt]
      .filter(([, at]) => at > begun && !deaths.some(({ from, until }) => at >= from && at <= until))
      .map(([id, at]) => (toldAt.get(id) ?? Number.POSITIVE_INFINITY) - at)
      .sort((one, other) => one - other)
    const worst = waits.at(-1) ?? 0
    say(
      `${doneAt.size} writes, ${again} told again; first attempt after ${waits[waits.length >> 1]?.toFixed(0)} ms, at most ${worst.toFixed(0)} ms; another node took over after ${takeovers.map(ms => (ms / 1_000).toFixed(1)).join(', ')} s`,
    )
    if (worst > firstAttemptMaxMs) complaints.push('a first attempt came late')
    return complaints
  },
}
