import { type Attack, deepContainers, flood, list, type Run, token } from './attack.ts'
import { Connection } from './connection.ts'
import { request, type Tenant } from './tenant.ts'

const connectionsBefore = 4
const requestsBefore = 2_000

/** Some thousand records of single acts, and some of many tokens. */
const act = async (tenant: Tenant): Promise<void> => {
  const tokens = list(1_000, at => token(at))
  const [id] = await tenant.call('POST', '/tokenize', tenant.keys.api_key, tokens)
  const read = request('GET', `/tokens/${id.id}`, await tenant.key('token:read'))
  const bytes = Buffer.concat(list(requestsBefore, () => read))
  await Promise.all(
    list(connectionsBefore, async () => {
      const connection = new Connection(tenant.url, {}, new AbortController().signal)
      await connection.ask(bytes, requestsBefore)
      connection.close()
    }),
  )
}

type Look = { readonly type: 'management' | 'private'; readonly permission: string; readonly path: string }

const looking = async (tenant: Tenant, { type, permission, path }: Look): Promise<Buffer> => {
  await act(tenant)
  const { key } = await tenant.application({ type, permissions: [permission] })
  return request('GET', path, key)
}

const log = (path: string): Look => ({ type: 'management', permission: 'log:read', path })
const events = (path: string): Look => ({ type: 'private', permission: 'event:read', path })

const looks: readonly (readonly [name: string, look: Look])[] = [
  ['logs-nothing', log('/logs?trace_id=nothing')],
  ['logs-token', log('/logs?token_id=nothing&start_date=2020-01-01&size=1000')],
  ['logs-pages', log('/logs?size=1000')],
  ['logs-export', log('/logs/export')],
  ['events-nothing', events('/events?type=tenant.rekeyed&size=1000')],
  ['events-pages', events('/events?type=token.*&type=token.read&size=1000')],
]

const lookingAt: readonly Attack[] = looks.map(([name, look]) => ({
  name,
  key: look.permission,
  connections: 64,
  prepare: async (tenant): Promise<Run> => flood(await looking(tenant, look)),
}))

const lookingAway: readonly Attack[] = looks
  .filter(([, { path }]) => /export|type=token/.test(path))
  .map(([name, look]) => ({
    name: `${name}-unread`,
    key: look.permission,
    connections: 200,
    also: ['cut'],
    prepare: async (tenant): Promise<Run> => {
      const bytes = await looking(tenant, look)
      return async connection => {
        await connection.sendAndReadNothing(bytes)
        await connection.closed()
      }
    },
  }))

/** As many webhooks as there may be, all to the same path of the far side. */
const webhooks = async (tenant: Tenant, path: string): Promise<string[]> => {
  const made: string[] = []
  while (made.length < 20) {
    const { id } = await tenant.call('POST', '/webhooks', tenant.keys.management_api_key, {
      name: 'of an attack',
      url: `${tenant.farUrl}${path}`,
      events: ['token.*', 'token.read'],
    })
    made.push(id)
  }
  return made
}

const deliveries: readonly Attack[] = ['fail', 'hang', 'fine'].map(path => ({
  name: `webhooks-${path}`,
  key: 'create',
  connections: 4,
  callsOut: true,
  prepare: async tenant => {
    await webhooks(tenant, path)
    const tokens = list(100, at => token(at, { containers: deepContainers(at).slice(0, 1) }))
    return flood(request('POST', '/tokenize', await tenant.key('token:create'), tokens))
  },
}))

const tests: readonly Attack[] = ['fail', 'hang'].map(path => ({
  name: `webhook-tests-${path}`,
  key: 'management',
  connections: 200,
  callsOut: true,
  also: ['unanswered'],
  prepare: async tenant => {
    const ids = await webhooks(tenant, path)
    const key = tenant.keys.management_api_key
    return flood(...ids.map(id => request('POST', `/webhooks/${id}/test`, key)))
  },
}))

export const looksAtActs: readonly Attack[] = [...lookingAt, ...lookingAway, ...deliveries, ...tests]
