import { newApiKeyText } from '../../src/crypto/api-key.ts'
import { type Attack, flood, letters, list, longCharacters, openingSearches, token } from './attack.ts'
import { request } from './tenant.ts'

/** Attacks that lie in how connections are used, more than in what is asked. */
export const rudeConnections: readonly Attack[] = [
  {
    name: 'gone',
    key: 'masked search',
    connections: 64,
    prepare: async tenant => {
      const searches = await openingSearches(tenant)
      return async (connection, number) => {
        await connection.send(searches[number % searches.length] ?? '')
        connection.close()
      }
    },
  },
  {
    name: 'gone-half',
    key: 'masked search',
    connections: 200,
    also: ['cut'],
    prepare: async tenant => {
      const ask = flood(...(await openingSearches(tenant)))
      return async (connection, number, round) => {
        const answered = ask(connection, number, round)
        await connection.pause(1)
        connection.end()
        await answered
        connection.close()
      }
    },
  },
  {
    name: 'bodies',
    key: 'public create',
    connections: 3_000,
    also: ['408', 'cut'],
    prepare: async tenant => {
      const body = JSON.stringify('x'.repeat(2 ** 20 - 2))
      const bytes = request('POST', '/tokenize', await tenant.key('token:create'), body).subarray(0, -1)
      return async connection => {
        await connection.send(bytes)
        await connection.closed()
      }
    },
  },
  {
    name: 'chunks',
    key: 'public create',
    connections: 200,
    also: ['408', 'cut'],
    prepare: async tenant => {
      const chunked = { 'transfer-encoding': 'chunked', 'content-type': 'application/json' }
      const head = request('POST', '/tokenize', await tenant.key('token:create'), undefined, chunked)
      const chunks = Buffer.from('1\r\n \r\n'.repeat(2_000))
      return async connection => {
        await connection.send(head)
        for (let sent = 0; sent < 500; sent++) await connection.send(chunks)
        await connection.closed()
      }
    },
  },
  {
    name: 'slow-readers',
    key: 'masked read',
    connections: 100,
    also: ['cut'],
    prepare: async tenant => {
      await tenant.store(100, token(letters(longCharacters), { mask: '{{ data }}' }))
      const bytes = request('GET', '/tokens?size=100', await tenant.key('token:read'))
      return async connection => {
        await connection.sendAndReadNothing(bytes)
        await connection.closed()
      }
    },
  },
  ...(['lists', 'gets', 'creates'] as const).map(
    (what): Attack => ({
      name: `pipelined-${what}`,
      key: what === 'creates' ? 'public create' : 'masked read',
      connections: 20,
      prepare: async tenant => {
        const key = await tenant.key(what === 'creates' ? 'token:create' : 'token:read')
        const [id] = await tenant.store(100, token('one of many', { mask: '{{ data }}' }))
        const bytes = {
          lists: request('GET', '/tokens?size=100', key),
          gets: request('GET', `/tokens/${id}`, key),
          creates: request('POST', '/tokens', key, token('one more')),
        }[what]
        const many = Buffer.concat(list(2_000, () => bytes))
        return connection => connection.ask(many, 2_000)
      },
    }),
  ),
  {
    name: 'pipelined-unread',
    key: 'reveal read',
    connections: 20,
    also: ['cut'],
    prepare: async tenant => {
      const [id] = await tenant.store(1, token(letters(60_000)))
      const one = request('GET', `/tokens/${id}`, tenant.keys.private_api_key)
      const many = Buffer.concat(list(2_000, () => one))
      return async connection => {
        await connection.sendAndReadNothing(many)
        await connection.closed()
      }
    },
  },
  {
    name: 'churn',
    key: 'none',
    connections: 200,
    also: ['refused'],
    prepare: async () => async (connection, number) => {
      await connection.send('GET /health HTTP/1.1\r\n')
      if (number % 2 === 0) connection.reset()
      else connection.close()
    },
  },
  {
    name: 'churn-empty',
    key: 'none',
    connections: 200,
    also: ['refused'],
    prepare: async () => async connection => {
      await connection.open()
      connection.reset()
    },
  },
  {
    name: 'unknown-keys',
    key: 'none',
    connections: 200,
    also: ['401'],
    prepare: async () =>
      flood(...list(500, () => request('GET', '/tokens?size=100', newApiKeyText('private')))),
  },
  {
    name: 'unknown-bodies',
    key: 'none',
    connections: 100,
    also: ['401', 'cut'],
    prepare: async () =>
      flood(request('POST', '/tokens', newApiKeyText('private'), token(letters(longCharacters)))),
  },
  {
    name: 'slow-heads',
    key: 'none',
    connections: 3_000,
    also: ['400', '408', 'cut'],
    prepare: async () => async connection => {
      await connection.send('GET /tokens HTTP/1.1\r\nHost: vault\r\n')
      await connection.pause(100)
      for (let n = 0; n < 50; n++) {
        await connection.send(`x-${n}: y\r\n`)
        await connection.pause(200)
      }
    },
  },
  {
    name: 'long-heads',
    key: 'masked read',
    connections: 200,
    also: ['404'],
    prepare: async tenant => {
      const headers = Object.fromEntries(list(140, n => [`x-${n}`, 'y'.repeat(90)]))
      return flood(
        request('GET', '/nowhere', await tenant.key('token:read'), undefined, headers),
        request('GET', '/tokens/none', await tenant.key('token:read'), undefined, headers),
      )
    },
  },
  {
    name: 'expectations',
    key: 'public create',
    connections: 1_000,
    also: ['408', 'cut'],
    prepare: async tenant => {
      const promised = {
        expect: '100-continue',
        'content-type': 'application/json',
        'content-length': '1000000',
      }
      const head = request('POST', '/tokens', await tenant.key('token:create'), undefined, promised)
      return async connection => {
        await connection.send(head)
        await connection.pause(50)
        connection.close()
      }
    },
  },
  {
    name: 'handshakes',
    key: 'none',
    connections: 50,
    also: ['refused'],
    isTls: true,
    prepare: async () => async connection => {
      await connection.open()
      connection.close()
    },
  },
]
