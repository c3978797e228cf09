import { Agent } from 'node:https'
import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'

/** How long a connection without a call is kept. Node's servers close theirs after five seconds. */
const idleMs = 4_000
/** Idle connections of one scope, and of all. */
const idlePerScope = 64
const idleMax = 512
const scopesMax = 1_024

/**
 * Connections by scope: those of one tenant, one proxy or webhook and one origin. What one scope opened, no other uses (U16). Agents of
 * our own also know nothing of proxies in the environment, which the agent that Node uses by itself may obey.
 */
export class Connections {
  readonly #scopes = new Map<string, ScopeAgent>()
  readonly #idle = new Set<Duplex>()

  /** The connections of a scope. `open` makes a further one. */
  of(scope: string, open: () => Promise<TLSSocket>): Agent {
    let agent = this.#scopes.get(scope)
    if (agent === undefined) {
      agent = new ScopeAgent(this.#idle)
      this.#scopes.set(scope, agent)
      const [oldest] = this.#scopes.keys()
      // Its connections close once they have been idle for a while.
      if (this.#scopes.size > scopesMax && oldest !== undefined) this.#scopes.delete(oldest)
    }
    agent.open = open
    return agent
  }

  /** Closes what nobody uses. */
  close(): void {
    this.#scopes.clear()
    for (const socket of this.#idle) socket.destroy()
  }
}

class ScopeAgent extends Agent {
  open: (() => Promise<TLSSocket>) | undefined
  readonly #idle: Set<Duplex>
  /** Those whose end is listened for: once, however often they are used. */
  readonly #watched = new WeakSet<Duplex>()

  constructor(idle: Set<Duplex>) {
    super({ keepAlive: true, maxFreeSockets: idlePerScope, timeout: idleMs, scheduling: 'lifo' })
    this.#idle = idle
  }

  /** All its connections are to one place. Node would put twenty options together for this, twice for each call. */
  override getName(): string {
    return ''
  }

  override createConnection(
    _options: unknown,
    made?: (error: Error | null, socket: Duplex) => void,
  ): undefined {
    const failed = (error: unknown): void => {
      // Node's types want a socket where there is none.
      Reflect.apply(made ?? (() => {}), undefined, [error])
    }
    this.open?.().then(socket => made?.(null, socket), failed)
  }

  override keepSocketAlive(socket: Duplex): boolean {
    const isKept: unknown = super.keepSocketAlive(socket)
    if (this.#idle.size >= idleMax || isKept === false) return false
    if (!this.#watched.has(socket)) socket.once('close', () => this.#idle.delete(socket))
    this.#watched.add(socket)
    this.#idle.add(socket)
    return true
  }

  override reuseSocket(socket: Duplex, request: Parameters<Agent['reuseSocket']>[1]): void {
    this.#idle.delete(socket)
    super.reuseSocket(socket, request)
  }
}
