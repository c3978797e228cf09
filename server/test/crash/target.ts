import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { KeyName, StarterKeys } from '../../src/cli/starter-applications.ts'
import type { Partner } from './partner.ts'

// biome-ignore lint/suspicious/noExplicitAny: the oracle looks into answers freely and asserts what it finds
export type Body = any
export type Answer = {
  readonly status: number
  readonly body: Body
  readonly replayed: boolean
  readonly retryAfter: string | null
  /** The id of the record that was durable before the answer left. */
  readonly receipt: string | null
}

/** How to have tokens sent to the partner. */
export type Charging = { readonly partner: Partner; readonly key: string; readonly proxyKey: string }

/** A vault that may die at any moment. */
export type Target = {
  readonly keys: Omit<StarterKeys, 'base_url'>
  /** Whom it may send tokens to, if anybody. */
  readonly charging?: Charging | undefined
  /** How far its clock is ahead of ours. */
  readonly clockMs: number
  /** The process or database behind it was killed recently, so 503 is an honest answer. */
  readonly isShaken: boolean
  /** The addresses of all living nodes. */
  readonly urls: readonly string[]
  /** The address of a living node; waits while storage is away. Undefined once no node is alive. */
  reach(pick: (count: number) => number): Promise<string | undefined>
}

/** A request not answered by then never will be. */
const patienceMs = 60_000

/** The answer, or undefined if the process that should have given it died first. */
export const askOnce = async (
  url: string,
  method: string,
  path: string,
  asked: { key: string; body?: unknown; headers?: Record<string, string> },
): Promise<Answer | undefined> => {
  const signal = AbortSignal.timeout(patienceMs)
  for (;;) {
    const answer = await send(url, method, path, asked, signal)
    // On a machine that others keep busy no turn may come in time. Nothing was done then, as the answer says.
    if (answer?.status !== 503 || answer.body.code !== 'overloaded') return answer
    await sleep(1_000 * Number(answer.retryAfter))
  }
}

const send = async (
  url: string,
  method: string,
  path: string,
  { key, body, headers = {} }: { key: string; body?: unknown; headers?: Record<string, string> },
  signal: AbortSignal,
): Promise<Answer | undefined> => {
  try {
    const reply = await fetch(url + path, {
      method,
      signal,
      headers: {
        'svc-api-key': key,
        ...(body !== undefined && {
          'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
        }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await reply.text()
    return {
      status: reply.status,
      body: text === '' ? {} : JSON.parse(text),
      replayed: reply.headers.get('idempotent-replayed') === 'true',
      retryAfter: reply.headers.get('retry-after'),
      receipt: reply.headers.get('svc-audit'),
    }
  } catch {
    assert.ok(!signal.aborted, `${method} ${path} was never answered`)
    return undefined
  }
}

/** A read that must succeed. */
export const read = async (target: Target, path: string, by: KeyName): Promise<Body> => {
  const url = await target.reach(() => 0)
  assert.ok(url !== undefined, 'no node lives')
  const answer = await askOnce(url, 'GET', path, { key: target.keys[by] })
  assert.equal(answer?.status, 200, `${path} ${JSON.stringify(answer?.body)}`)
  return answer?.body
}
