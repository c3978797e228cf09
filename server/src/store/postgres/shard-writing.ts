import { foreignCode } from '../../domain/foreign-code.ts'
import type { Connection, QueryAnswer, Statement } from './connection.ts'
import { functionsOfShards } from './distribute.ts'
import { isMoved, type Shard } from './shard.ts'

/** What sends statements to the database. */
export type Sends = Pick<Connection, 'send'>

const definitions = 'SELECT pg_get_functiondef(to_regproc(name)) AS definition FROM unnest($1::text[]) name'

/** No such function, or not even a schema for those of the connection: it was lost and opened again at this moment. */
const codesOfMissing: readonly string[] = ['42883', '3F000']

/**
 * Writes to a shard's own tables, at the node that holds it. A role that may not write that way writes through Citus at the same node,
 * which takes five times as long.
 */
export class ShardWriting implements Sends {
  readonly #connection: Connection
  readonly #shard: Shard
  readonly #elsewhere: () => Promise<Sends>

  /** `elsewhere`: a way that works wherever the shard is. */
  constructor(connection: Connection, shard: Shard, elsewhere: () => Promise<Sends>) {
    this.#connection = connection
    this.#shard = shard
    this.#elsewhere = elsewhere
  }

  /** Each statement must be a transaction: one that was refused because the shard is not here has done nothing, and goes elsewhere. */
  async send<Row>(statements: readonly Statement[]): Promise<PromiseSettledResult<QueryAnswer<Row>>[]> {
    const answers = await this.#sendHere<Row>(statements)
    if (answers === undefined) return (await this.#elsewhere()).send<Row>(statements)
    const refused = statements.filter((_, index) => isNotHere(answers[index]))
    if (refused.length === 0) return answers
    // Only these: the shard may have been moved between two statements, and the first must not be done twice.
    const again = await (await this.#elsewhere()).send<Row>(refused)
    return answers.map(answer => (isNotHere(answer) ? (again.shift() ?? answer) : answer))
  }

  /** Undefined if nothing could be sent: the node is away, or has no shard any more. */
  async #sendHere<Row>(
    statements: readonly Statement[],
  ): Promise<PromiseSettledResult<QueryAnswer<Row>>[] | undefined> {
    try {
      await this.#connection.open()
      const own = await this.#hasFunctions()
      return await this.#connection.send<Row>(
        own ? statements.map(statement => this.#shard.writing(statement)) : statements,
      )
    } catch {
      return undefined
    }
  }

  /** They are made once for each session and shard. */
  async #hasFunctions(): Promise<boolean> {
    const { session } = this.#connection
    if (session === undefined) return false
    const { sessions } = this.#shard
    const made = sessions.get(session) ?? this.#makeFunctions()
    sessions.set(session, made)
    return made
  }

  /** False if the vault's role may not make them, or does not own the tables. */
  async #makeFunctions(): Promise<boolean> {
    try {
      const { rows } = await this.#connection.query({ text: definitions, values: [functionsOfShards] })
      const texts = this.#shard.functions(rows.map(({ definition }) => String(definition)))
      const answers = await this.#connection.send(texts.map(text => ({ text })))
      return answers.every(({ status }) => status === 'fulfilled')
    } catch {
      return false
    }
  }
}

const isNotHere = (answer: PromiseSettledResult<unknown> | undefined): boolean =>
  answer?.status === 'rejected' &&
  (isMoved(answer.reason) || codesOfMissing.includes(foreignCode(answer.reason)))
