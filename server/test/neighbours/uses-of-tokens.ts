import {
  type Attack,
  flood,
  heavyExpressions,
  letters,
  list,
  longCharacters,
  type Run,
  token,
} from './attack.ts'
import { commonStart } from './far-side.ts'
import { request, type Tenant } from './tenant.ts'

const reveal = 'reveal read'
const use = 'use'

const ids = (count: number): string[] => list(count, at => `used-${at}`)

/** Stores a token for each of these ids. */
const storeAs = async (
  tenant: Tenant,
  names: readonly string[],
  make: (at: number) => object,
): Promise<void> => {
  const tokens = names.map((id, at) => ({ ...make(at), id }))
  await tenant.call('POST', '/tokenize', tenant.keys.api_key, tokens)
}

/** Of one token with much data each, as many as a detokenize may read. */
const storeLong = async (tenant: Tenant, count: number): Promise<void> => {
  for (const id of ids(count)) await tenant.store(1, token(letters(longCharacters), { id }))
}

const detokenizing =
  (payload: unknown, prepare: (tenant: Tenant) => Promise<void>) =>
  async (tenant: Tenant): Promise<Run> => {
    await prepare(tenant)
    return flood(request('POST', '/detokenize', tenant.keys.private_api_key, payload))
  }

const manyIds = ids(1_000)
const twice = (expression: (id: string) => string): string[] => [...manyIds, ...manyIds].map(expression)

const detokenizes: readonly Attack[] = [
  {
    name: 'detokenize-many',
    key: reveal,
    connections: 32,
    prepare: detokenizing(
      twice(id => `{{ ${id} | upcase | escape | truncate: 20 }}`),
      tenant => storeAs(tenant, manyIds, at => token(`${at}${letters(100)}`)),
    ),
  },
  {
    name: 'detokenize-masks',
    key: 'masked read',
    connections: 32,
    prepare: async tenant => {
      const masks = heavyExpressions.map(mask => token(letters(900), { mask }))
      const { token: accepted } = await tenant.firstAccepted(masks)
      // All at once would take too much work.
      for (let at = 0; at < manyIds.length; at += 250)
        await storeAs(tenant, manyIds.slice(at, at + 250), () => accepted)
      const payload = manyIds.map(id => `{{ ${id} }}`)
      return flood(request('POST', '/detokenize', await tenant.key('token:read'), payload))
    },
  },
  {
    name: 'detokenize-steps',
    key: reveal,
    connections: 32,
    prepare: detokenizing(
      twice(id => `{{ ${id} | split: '' | sort | join: '' | size }}`),
      tenant => storeAs(tenant, manyIds, () => token(letters(900))),
    ),
  },
  {
    name: 'detokenize-hmac',
    key: reveal,
    connections: 32,
    prepare: detokenizing(
      list(2_000, at => `{{ used-0 | hmac: 'sha-512', '${at}' | to_base16 }}`),
      tenant => storeLong(tenant, 1),
    ),
  },
  {
    name: 'detokenize-large',
    key: reveal,
    connections: 64,
    prepare: detokenizing(
      ids(34).map(id => `{{ ${id} | size }}`),
      tenant => storeLong(tenant, 34),
    ),
  },
  {
    name: 'detokenize-long',
    key: reveal,
    connections: 64,
    prepare: detokenizing(Array(9).fill('{{ used-0 }}'), tenant => storeLong(tenant, 1)),
  },
  {
    name: 'detokenize-unread',
    key: reveal,
    connections: 100,
    also: ['cut'],
    prepare: async tenant => {
      await storeLong(tenant, 1)
      const payload = Array(9).fill('{{ used-0 }}')
      const bytes = request('POST', '/detokenize', tenant.keys.private_api_key, payload)
      return async connection => {
        await connection.sendAndReadNothing(bytes)
        await connection.closed()
      }
    },
  },
  {
    name: 'detokenize-braces',
    key: reveal,
    connections: 32,
    prepare: detokenizing(["{{ '{{' }}".repeat(90_000)], async () => {}),
  },
  {
    name: 'detokenize-faults',
    key: reveal,
    connections: 32,
    prepare: detokenizing(
      list(60_000, at => [`{{ no-${at % 1_900}`]),
      async () => {},
    ),
  },
]

type Proxied = {
  readonly path: string
  readonly names?: readonly string[]
  readonly body?: string
  readonly settings?: object
}

/** A proxy to the far side, and the bytes of a request through it. */
const proxied = async (tenant: Tenant, { path, body, settings }: Proxied): Promise<Buffer> => {
  const { key } = await tenant.application({
    rules: [
      {
        priority: 0,
        container: '/',
        transform: 'mask',
        permissions: ['token:use', 'token:create'],
        destinations: [tenant.farUrl],
      },
    ],
  })
  const proxy = await tenant.call('POST', '/proxies', tenant.keys.management_api_key, {
    name: 'of an attack',
    destination_url: tenant.farUrl,
    timeout: 2,
    ...settings,
  })
  const headers = { 'svc-proxy-key': proxy.key, 'content-type': 'application/json' }
  return request('POST', `/proxy/${path}`, key, body ?? '{}', headers)
}

const proxying =
  (asked: Proxied, prepare: (tenant: Tenant) => Promise<void> = async () => {}) =>
  async (tenant: Tenant): Promise<Run> => {
    await prepare(tenant)
    return flood(await proxied(tenant, asked))
  }

const hundred = ids(100)
const all = JSON.stringify(hundred.map(id => `{{ ${id} }}`))
/** Seven hundred values each, which begin alike. */
const storeValues = (tenant: Tenant): Promise<void> =>
  storeAs(tenant, hundred, at => token(list(300, n => `${commonStart}${at}-${n}`)))

/** What comes of a request through the proxy that its destination spoils. */
const spoilt = ['500', '502', '504']
const callsOut = { callsOut: true, key: use } as const

const proxies: readonly Attack[] = [
  {
    ...callsOut,
    name: 'proxy-echo',
    connections: 64,
    prepare: proxying({ path: 'echo', body: all }, storeValues),
  },
  {
    ...callsOut,
    name: 'proxy-alike',
    connections: 64,
    prepare: proxying({ path: 'alike', body: all }, storeValues),
  },
  {
    ...callsOut,
    name: 'proxy-escaped',
    connections: 64,
    prepare: proxying({ path: 'escaped', body: all }, storeValues),
  },
  {
    ...callsOut,
    name: 'proxy-transforms',
    connections: 64,
    prepare: proxying({
      path: 'numbers',
      settings: {
        response_transforms: [
          ...list(10, at => ({ type: 'tokenize', token: { type: 'token' }, location: `$.all[${at}]` })),
          ...list(10, () => ({ type: 'mask', matcher: 'pan' })),
        ],
      },
    }),
  },
  {
    ...callsOut,
    name: 'proxy-tokenize',
    connections: 64,
    prepare: proxying({
      path: 'numbers',
      settings: {
        response_transforms: [{ type: 'tokenize', token: { type: 'token' }, location: '$.all' }],
      },
    }),
  },
  {
    ...callsOut,
    name: 'proxy-hanging',
    connections: 300,
    also: spoilt,
    prepare: proxying({ path: 'hang', body: JSON.stringify('x'.repeat(longCharacters)) }),
  },
  {
    ...callsOut,
    name: 'proxy-nearly',
    connections: 300,
    also: [...spoilt, 'unanswered'],
    prepare: proxying({ path: 'nearly' }),
  },
  {
    ...callsOut,
    name: 'proxy-squeezed',
    connections: 64,
    prepare: proxying({ path: 'squeezed' }),
  },
  {
    ...callsOut,
    name: 'proxy-bodies',
    connections: 64,
    also: spoilt,
    prepare: proxying({ path: 'fail', body: JSON.stringify('x'.repeat(longCharacters)) }),
  },
  {
    ...callsOut,
    name: 'proxy-gone',
    connections: 100,
    prepare: async tenant => {
      await storeValues(tenant)
      const bytes = await proxied(tenant, { path: 'alike', body: all })
      return async connection => {
        await connection.send(bytes)
        await connection.pause(5)
        connection.close()
      }
    },
  },
]

export const usesOfTokens: readonly Attack[] = [...detokenizes, ...proxies]
