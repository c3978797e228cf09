import type { KeyName } from '../../src/cli/starter-applications.ts'
import type { Seeded } from '../rig/seeded.ts'
import type { Books, State } from './books.ts'
import { applicationName, keyExpiry, parts, ruleOf } from './parts-of-a-write.ts'
import type { Body } from './target.ts'

/** One write: what it changes, and how to request it. */
export type Write = {
  readonly names: readonly string[]
  readonly to: State
  readonly by: KeyName
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  /** Things that must not change until it is answered. */
  readonly needs?: readonly string[]
  /** Built anew each time it is sent: a cvc lives for an hour from then. */
  readonly body?: (clockMs: number) => unknown
  readonly idempotencyKey?: string
  readonly status: number
  /** Learns from the answer where the things are. */
  readonly learn?: (answer: Body) => void
}

export type Context = {
  readonly books: Books
  readonly random: Seeded
  readonly writer: string
  /** Used by no other write. */
  readonly name: string
  /** Things that an unanswered write may still change are left alone. */
  readonly isFree: (name: string) => boolean
  /** How far the vault's clock is ahead. */
  readonly clockMs: number
  /** The texts of API keys, by name. */
  readonly secrets: Map<string, string>
}

/** Undefined if there is nothing to do it with. */
type Kind = (context: Context) => Write | undefined

const halfHourMs = 30 * 60_000

const createToken: Kind = ({ books, random, name, clockMs }) => {
  const n = books.next()
  const look = random.below(6)
  const isBrief = look === 0
  // A token that has expired by then could not be requested again, so a brief one gets no idempotency key.
  const tag = `token:${name}${isBrief ? '.brief' : ''}`
  const more = [
    { expires_at: new Date(Date.now() + clockMs + halfHourMs).toISOString() },
    { id: tag },
    { deduplicate_token: true },
    { search_indexes: ['{{ data.left }}'], containers: ['/a/b/', '/c/'] },
  ][look]
  const type = look === 5 ? 'card' : 'token'
  return {
    names: [tag],
    to: n,
    by: 'api_key',
    method: 'POST',
    path: '/tokens',
    body: at => ({ ...parts(type, tag, n, at), ...more }),
    ...(!isBrief && { idempotencyKey: name }),
    status: 201,
    learn: ({ id }) => books.places.set(tag, { id, type }),
  }
}

const tokenize: Kind = ({ books, name }) => {
  const n = books.next()
  const tags = ['a', 'b', 'c', 'd'].map(part => `token:${name}.${part}`)
  const typeOf = (index: number): string => (index === 1 ? 'card' : 'token')
  return {
    names: tags,
    to: n,
    by: 'api_key',
    method: 'POST',
    path: '/tokenize',
    body: at => ({ inside: tags.map((tag, index) => parts(typeOf(index), tag, n, at)) }),
    idempotencyKey: name,
    status: 200,
    learn: ({ inside }) =>
      tags.forEach((tag, index) => {
        books.places.set(tag, { id: inside[index].id, type: typeOf(index) })
      }),
  }
}

/** One of the writer's own things. */
const pick = ({ books, random, writer, isFree }: Context, kind: string) => {
  const name = random.pick(books.living(`${kind}:${writer}`).filter(isFree))
  const place = name === undefined ? undefined : books.places.get(name)
  return name === undefined || place === undefined ? undefined : { name, ...place }
}

const updateToken: Kind = context => {
  const token = pick(context, 'token')
  if (token === undefined) return undefined
  const n = context.books.next()
  return {
    names: [token.name],
    to: n,
    by: 'api_key',
    method: 'PATCH',
    path: `/tokens/${token.id}`,
    body: at => {
      const { data, metadata } = parts(token.type ?? 'token', token.name, n, at)
      return { data, metadata }
    },
    // If repeated, the change of a token that has expired by then would fail.
    ...(!token.name.endsWith('.brief') && { idempotencyKey: context.name }),
    status: 200,
  }
}

const deleteToken: Kind = context => {
  const token = pick(context, 'token')
  return (
    token && {
      names: [token.name],
      to: undefined,
      by: 'private_api_key',
      method: 'DELETE',
      path: `/tokens/${token.id}`,
      status: 204,
    }
  )
}

/** There is one tenant, so only one writer changes it. */
const updateTenant: Kind = ({ books, writer, name, isFree }) => {
  if (writer !== 'w0.' || !isFree('tenant')) return undefined
  const n = books.next()
  return {
    names: ['tenant'],
    to: n,
    by: 'management_api_key',
    method: 'PUT',
    path: '/tenants/self',
    body: () => ({ name: `Tenant ${n}`, settings: { fingerprint_tokens: String(n % 2 === 0) } }),
    idempotencyKey: name,
    status: 200,
  }
}

const createApplication: Kind = ({ books, random, name }) => {
  const n = books.next()
  const hasKey = random.below(2) === 0
  const tag = `application:${name}${hasKey ? '.with-key' : ''}`
  return {
    names: [tag],
    to: n,
    by: 'management_api_key',
    method: 'POST',
    path: '/applications',
    body: () => ({ name: applicationName(tag, n), type: 'private', rules: [ruleOf(n)], create_key: hasKey }),
    idempotencyKey: name,
    status: 201,
    learn: ({ id }) => books.places.set(tag, { id }),
  }
}

const updateApplication: Kind = context => {
  const application = pick(context, 'application')
  if (application === undefined) return undefined
  const n = context.books.next()
  return {
    names: [application.name],
    to: n,
    by: 'management_api_key',
    method: 'PUT',
    path: `/applications/${application.id}`,
    body: () => ({ name: applicationName(application.name, n), rules: [ruleOf(n)] }),
    idempotencyKey: context.name,
    status: 200,
  }
}

const keysOf = ({ books, writer }: Context, application: string): string[] =>
  books.living(`key:${writer}`).filter(key => books.places.get(key)?.within === application)

const deleteApplication: Kind = context => {
  const application = pick(context, 'application')
  if (application === undefined) return undefined
  return {
    names: [application.name, ...keysOf(context, application.name)],
    to: undefined,
    by: 'management_api_key',
    method: 'DELETE',
    path: `/applications/${application.id}`,
    status: 204,
  }
}

const keysPerApplication = 5

const createApiKey: Kind = context => {
  const { books, writer, name, secrets } = context
  const application = pick(context, 'application')
  if (application === undefined || keysOf(context, application.name).length >= keysPerApplication)
    return undefined
  const n = books.next()
  const tag = `key:${writer}${n}`
  return {
    names: [tag],
    to: n,
    needs: [application.name],
    by: 'management_api_key',
    method: 'POST',
    path: `/applications/${application.id}/keys`,
    body: () => ({ expires_at: keyExpiry(n) }),
    idempotencyKey: name,
    status: 201,
    learn: ({ id, key }) => {
      books.places.set(tag, { id, within: application.name })
      if (key !== undefined) secrets.set(tag, key)
    },
  }
}

const deleteApiKey: Kind = context => {
  const key = pick(context, 'key')
  const application = context.books.places.get(key?.within ?? '')
  return (
    key &&
    application && {
      names: [key.name],
      to: undefined,
      by: 'management_api_key',
      method: 'DELETE',
      path: `/applications/${application.id}/keys/${key.id}`,
      status: 204,
    }
  )
}

/** Each is drawn as often as it is listed. */
const kinds: readonly Kind[] = [
  ...[createToken, createToken, createToken, createToken, tokenize, updateToken, updateToken, updateToken],
  ...[deleteToken, deleteToken, updateTenant, createApplication, updateApplication, deleteApplication],
  ...[createApiKey, createApiKey, deleteApiKey],
]

export const nextWrite = (context: Context): Write =>
  context.random.pick(kinds)?.(context) ?? createToken(context) ?? unreachable()

const unreachable = (): never => {
  throw new Error('a token can always be made')
}
