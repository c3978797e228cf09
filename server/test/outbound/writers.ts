import { Agent, request } from 'node:http'
import { json } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { call } from '../rig/program.ts'
import type { Scenario } from './scene.ts'

const nodes = 3
const writersPerNode = 1_000
const writesEach = 5
const attemptsMax = 60

type Event = {
  readonly id: string
  readonly sequence: string
  readonly data: { readonly token: { readonly id: string } }
}

/** E6: while a thousand writers write through each of three nodes, the feed has each event once, those of one writer in order. */
export const writers: Scenario = {
  name: 'writers',
  engines: ['postgres'],
  happen: async (scene, say) => {
    const servers = await Promise.all(Array.from({ length: nodes }, () => scene.serve()))
    const { api_key, management_api_key } = await scene.tenant('Writers')
    const agent = new Agent({ keepAlive: true })
    const create = async (url: string, key: string): Promise<string> => {
      const body = JSON.stringify({ type: 'token', data: 'x' })
      for (let attempt = 0; attempt < attemptsMax; attempt++) {
        const { status, id } = await new Promise<{ status: number; id: string }>((resolve, reject) => {
          const asking = request(`${url}/tokens`, {
            agent,
            method: 'POST',
            headers: {
              'svc-api-key': api_key,
              'svc-idempotency-key': key,
              'content-type': 'application/json',
              'content-length': body.length,
            },
          })
          asking.on('error', reject)
          asking.on('response', async reply => {
            const { id } = (await json(reply)) as { id: string }
            resolve({ status: reply.statusCode ?? 0, id })
          })
          asking.end(body)
        })
        if (status === 201) return id
        if (status !== 503) throw new Error(`a create was answered with ${status}`)
        refused++
        await sleep(1_000)
      }
      throw new Error('a create was refused too often')
    }
    let isOver = false
    let refused = 0
    const page = async (url: string, start: string): Promise<{ next: string; data: Event[] }> => {
      for (let attempt = 0; attempt < attemptsMax; attempt++) {
        const path = `/events?type=token.created&size=1000${start}`
        const { status, body } = await call(url, 'GET', path, management_api_key)
        if (status === 200) return { next: body.pagination.next, data: body.data }
        if (status !== 503) throw new Error(`the feed was answered with ${status}`)
        refused++
        await sleep(1_000)
      }
      throw new Error('the feed was refused too often')
    }
    const follow = async (url: string): Promise<Event[]> => {
      const followed: Event[] = []
      for (let start = '', isLast = false; ; ) {
        const { next, data } = await page(url, start)
        start = `&start=${encodeURIComponent(next)}`
        followed.push(...data)
        if (data.length > 0) continue
        if (isLast) return followed
        isLast = isOver
        await sleep(10)
      }
    }
    const following = Promise.all(servers.map(({ url }) => follow(url)))
    following.catch(() => {})
    const begun = performance.now()
    const made = await Promise.all(
      servers.flatMap(({ url }, node) =>
        Array.from({ length: writersPerNode }, async (_, writer) => {
          const ids: string[] = []
          for (let write = 0; write < writesEach; write++)
            ids.push(await create(url, `${node}.${writer}.${write}`))
          return ids
        }),
      ),
    )
    const seconds = (performance.now() - begun) / 1_000
    isOver = true
    agent.destroy()
    const told = [...(await following), await follow(servers[0]?.url ?? '')]
    const expected = made.flat().sort()
    const complaints: string[] = []
    for (const [number, events] of told.entries()) {
      const who = number < nodes ? `follower ${number + 1}` : 'whoever reads afterwards'
      const ids = events.map(({ data }) => data.token.id).sort()
      if (ids.length !== expected.length || ids.some((id, at) => id !== expected[at]))
        complaints.push(`${who} was told ${ids.length} events of ${expected.length}`)
      const last = new Map<string, number>()
      for (const { sequence } of events) {
        const [writer = '', place] = sequence.split('.')
        if (Number(place) <= (last.get(writer) ?? -1))
          complaints.push(`${who} was told ${sequence} out of order`)
        last.set(writer, Number(place))
      }
    }
    const sequences = new Set(told[0]?.map(({ sequence }) => sequence.split('.')[0]))
    say(
      `${expected.length} writes in ${seconds.toFixed(1)} s, numbered by ${sequences.size} writers of the log; ${nodes} followers and one who read afterwards were told each once, in order; ${refused} requests were refused with 503 and sent again`,
    )
    return complaints
  },
}
