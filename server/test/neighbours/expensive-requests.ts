import {
  type Attack,
  deep,
  deepContainers,
  flood,
  heavyExpressions,
  letters,
  list,
  longCharacters,
  manyTokens,
  openingSearches,
  type Run,
  token,
} from './attack.ts'
import { request, type Tenant } from './tenant.ts'

const masked = (data: string): object[] => heavyExpressions.map(mask => token(data, { mask }))
const card = { type: 'card', data: { number: '500000000611' } }
const heavyMask = (width: number): string =>
  `{{ data.number | pad_left: ${width} | escape | url_encode | size }}`

const rules = (container: (priority: number) => string, permissions: readonly string[]): object[] =>
  list(50, priority => ({ priority, container: container(priority), transform: 'mask', permissions }))

/** Tokenizes the same again and again, with a public key. */
const tokenizing =
  (body: () => unknown) =>
  async (tenant: Tenant): Promise<Run> =>
    flood(request('POST', '/tokenize', await tenant.key('token:create'), body()))

/** Reads these paths among many tokens, with a key that reads under the mask. */
const reading =
  (paths: readonly string[], more?: (at: number) => object) =>
  async (tenant: Tenant): Promise<Run> => {
    await manyTokens(tenant, more)
    const key = await tenant.key('token:read')
    return flood(...paths.map(path => request('GET', path, key)))
  }

const searching =
  (query: string, more: (at: number) => object) =>
  async (tenant: Tenant): Promise<Run> => {
    await manyTokens(tenant, more)
    const key = await tenant.key('token:read', 'token:search')
    return flood(request('POST', '/tokens/search', key, { query, size: 100 }))
  }

const create = 'public create'
const read = 'masked read'

/** Attacks that lie in what is asked. */
export const expensiveRequests: readonly Attack[] = [
  {
    name: 'mask',
    key: create,
    connections: 120,
    prepare: async tenant => {
      const body = { ...card, mask: heavyMask(20_000) }
      return flood(request('POST', '/tokens', await tenant.key('token:create'), body))
    },
  },
  {
    name: 'mask-accepted',
    key: create,
    connections: 120,
    prepare: async tenant => {
      const bodies = [20_000, 10_000, 5_000, 1_000, 300, 100, 20].map(width => ({
        ...card,
        mask: heavyMask(width),
      }))
      const { token } = await tenant.firstAccepted(bodies)
      return flood(request('POST', '/tokens', await tenant.key('token:create'), token))
    },
  },
  {
    name: 'read',
    key: read,
    connections: 220,
    prepare: async tenant => {
      const { id } = await tenant.firstAccepted(masked(letters(longCharacters)))
      return flood(request('GET', `/tokens/${id}`, await tenant.key('token:read')))
    },
  },
  {
    name: 'read-list',
    key: read,
    connections: 40,
    prepare: async tenant => {
      const { token } = await tenant.firstAccepted(masked(letters(longCharacters)))
      await tenant.store(19, token)
      return flood(request('GET', '/tokens?size=20', await tenant.key('token:read')))
    },
  },
  {
    name: 'read-whole',
    key: 'reveal read',
    connections: 100,
    prepare: async tenant => {
      const [id] = await tenant.store(1, token(letters(longCharacters)))
      return flood(request('GET', `/tokens/${id}`, tenant.keys.private_api_key))
    },
  },
  {
    name: 'search',
    key: 'masked search',
    connections: 32,
    prepare: async tenant => flood(...(await openingSearches(tenant))),
  },
  {
    name: 'branches',
    key: 'masked search',
    connections: 64,
    prepare: searching(
      `(${list(8, n => `metadata.a:${n}`).join(' OR ')}) (${list(8, n => `metadata.b:${n}`).join(' OR ')})`,
      at => ({ metadata: { a: String(at % 8), b: String((at + 1) % 8) } }),
    ),
  },
  { name: 'index', key: create, connections: 8, prepare: tokenizing(() => deep(1_000)) },
  { name: 'index-below', key: create, connections: 32, prepare: tokenizing(() => deep(120)) },
  {
    name: 'index-metadata',
    key: create,
    connections: 16,
    prepare: tokenizing(() => {
      const metadata = (at: number): object => Object.fromEntries(list(50, n => [`k${n}`, `${at}v${n}`]))
      return list(1_000, at => token(at, { metadata: metadata(at) }))
    }),
  },
  {
    name: 'index-expressions',
    key: create,
    connections: 16,
    prepare: tokenizing(() => {
      const search_indexes = list(10, n => `{{ data | escape | url_encode | append: '${n}' }}`)
      return list(400, at => token(`${at}<>&`.repeat(20), { search_indexes }))
    }),
  },
  { name: 'lists', key: read, connections: 500, prepare: reading(['/tokens?size=100']) },
  {
    name: 'pages',
    key: read,
    connections: 64,
    prepare: reading(list(50, n => `/tokens?size=100&page=${150 + n}`)),
  },
  {
    name: 'disjoint',
    key: read,
    connections: 64,
    prepare: reading(['/tokens?metadata.a=0&metadata.b=0'], at => ({
      metadata: { a: String(at % 2), b: String((at + 1) % 2) },
    })),
  },
  {
    name: 'filters',
    key: read,
    connections: 100,
    prepare: reading([
      `/tokens?${list(14, n => `metadata.k${n}=${'%EF%B7%BA'.repeat(110)}`).join('&')}`,
      `/tokens?${list(14, n => `metadata.k${n}=${'Z'.repeat(1_000)}`).join('&')}`,
    ]),
  },
  {
    name: 'ids',
    key: read,
    connections: 200,
    prepare: async tenant => {
      const ids = await tenant.store(100, token(letters(2_000), { mask: '{{ data }}' }))
      const path = `/tokens?size=100&${ids.map(id => `id=${id}`).join('&')}`
      return flood(request('GET', path, await tenant.key('token:read')))
    },
  },
  {
    name: 'rules',
    key: 'fifty rules',
    connections: 64,
    prepare: async tenant => {
      await manyTokens(tenant, at => ({ containers: [`/r${at % 100}/`] }))
      const { key } = await tenant.application({ rules: rules(n => `/r${n * 2}/`, ['token:read']) })
      return flood(request('GET', '/tokens?size=100&page=90', key))
    },
  },
  {
    name: 'replays',
    key: create,
    connections: 64,
    also: ['409'],
    prepare: async tenant => {
      const key = await tenant.key('token:create')
      const body = token(letters(longCharacters), { mask: '{{ data }}' })
      const headers = list(8, n => ({ 'svc-idempotency-key': `replay-${n}` }))
      return flood(...headers.map(header => request('POST', '/tokens', key, body, header)))
    },
  },
  {
    name: 'duplicates',
    key: 'private create',
    connections: 16,
    prepare: async tenant => {
      const tokens = list(1_000, () => token('the same', { deduplicate_token: true }))
      return flood(request('POST', '/tokenize', tenant.keys.api_key, tokens))
    },
  },
  {
    name: 'aliases',
    key: create,
    connections: 16,
    prepare: tokenizing(() =>
      list(1_000, () => token('123456', { id: '{{ data | alias_preserve_format: 0, 0 }}' })),
    ),
  },
  {
    name: 'patch-masks',
    key: 'private update',
    connections: 100,
    also: ['409'],
    prepare: async tenant => {
      const ids = await tenant.store(100, card)
      const key = await tenant.key('token:update')
      return flood(...ids.map(id => request('PATCH', `/tokens/${id}`, key, { mask: heavyMask(10_000) })))
    },
  },
  {
    name: 'patch-one',
    key: 'public update',
    connections: 100,
    also: ['409'],
    prepare: async tenant => {
      const [id] = await tenant.store(1, token(letters(100_000)))
      const { key } = await tenant.application({ type: 'public', permissions: ['token:update'] })
      const metadata = list(50, n => ({ [`k${n}`]: 'v'.repeat(1_000) }))
      return flood(...metadata.map(metadata => request('PATCH', `/tokens/${id}`, key, { metadata })))
    },
  },
  {
    name: 'delete-deep',
    key: 'create, delete',
    connections: 32,
    prepare: async tenant => {
      const key = await tenant.key('token:create', 'token:delete')
      return async (connection, number, round) => {
        const id = `gone-${number}-${round}`
        const body = token('soon gone', { id, containers: deepContainers(number) })
        await connection.ask(request('POST', '/tokens', key, body))
        await connection.ask(request('DELETE', `/tokens/${id}`, key))
      }
    },
    also: ['404', '409'],
  },
  ...[45_000, 5_000].map(
    (count): Attack => ({
      name: `exact-numbers-${count}`,
      key: create,
      connections: 16,
      prepare: async tenant => {
        const body = `{"type":"token","data":[${list(count, () => '12345678901234567891').join()}]}`
        return flood(request('POST', '/tokens', await tenant.key('token:create'), body))
      },
    }),
  ),
  {
    name: 'faults',
    key: create,
    connections: 32,
    prepare: tokenizing(() =>
      list(1_000, at => ({ type: 'card', data: { number: '1', cvv: at }, [`field${at}`]: at })),
    ),
  },
  {
    name: 'explain',
    key: 'management',
    connections: 100,
    prepare: async tenant => {
      const { id } = await tenant.application({
        rules: rules(n => `/1c${n}/0/1/2/3/4/`, ['token:read', 'token:search']),
      })
      const body = { permission: 'token:read', containers: deepContainers(1) }
      return flood(request('POST', `/applications/${id}/explain`, tenant.keys.management_api_key, body))
    },
  },
  {
    name: 'reports',
    key: 'management',
    connections: 200,
    prepare: async tenant => {
      await manyTokens(tenant)
      const key = (await tenant.application({ type: 'management', permissions: ['report:read'] })).key
      return flood(
        request('GET', '/tenants/self/reports/usage', key),
        request('GET', '/tenants/self/reports/indexes', key),
      )
    },
  },
  {
    name: 'grants',
    key: 'management',
    connections: 16,
    also: ['409'],
    prepare: async tenant => {
      const { id } = await tenant.application({ permissions: ['token:read'] })
      const { management_api_key: key } = tenant.keys
      const application = { name: 'of an attack', rules: rules(n => `/g${n}/`, ['token:read']) }
      return flood(
        request('PUT', `/applications/${id}`, key, application),
        request('PUT', '/tenants/self', key, { name: 'Attacker' }),
      )
    },
  },
  {
    name: 'many-keys',
    key: '60 × create, read',
    connections: 240,
    prepare: async tenant => {
      await manyTokens(tenant)
      const grants = { permissions: ['token:create', 'token:read'] }
      const keys: string[] = []
      while (keys.length < 60) keys.push((await tenant.application(grants)).key)
      const body = list(100, at => token(at, { containers: deepContainers(at) }))
      return flood(
        ...keys.flatMap(key => [
          request('GET', '/tokens?size=100', key),
          request('POST', '/tokenize', key, body),
        ]),
      )
    },
  },
]
