import { foreignCode } from '../../domain/foreign-code.ts'
import type { Statement } from './connection.ts'

/** What the coordinator knows of a shard. Lists are in the server's notation. */
export type ShardRow = {
  readonly shard: string
  readonly node_group: number
  readonly host: string
  readonly port: number
  readonly names: string
  readonly tables: string
  /** The part of the table `tenants` that each node has: all of it. */
  readonly tenants: string
}

/** Raised by a write whose shard was moved away. Nothing was written. */
const movedAway = 'SR002'
/** The same for a read (the division in `#isHere`); or the shard's tables have been dropped since. */
const codesOfMoved: readonly string[] = [movedAway, '22012', '42P01']

export const isMoved = (error: unknown): boolean => codesOfMoved.includes(foreignCode(error))

/** `ShareLock`, by its number in PostgreSQL. */
const shareLock = 5

/** Some tenants' rows at one node: what their tables are called there, to read and write them without Citus' planner. */
export class Shard {
  readonly #id: string
  /** 1 or 0: whether the node still holds it, as far as the node knows. */
  readonly #isHere: string
  readonly #tables: ReadonlyMap<string, string>
  readonly #tenants: string
  /** The sessions that have this shard's functions, or cannot have them. */
  readonly sessions = new WeakMap<object, Promise<boolean>>()
  /** By the text for the whole. Only texts with names are kept, of which there are not many (reading-side.ts). */
  readonly #texts = new Map<string, string>()

  constructor({ shard, node_group, names, tables, tenants }: ShardRow) {
    const own = itemsOf(tables)
    this.#id = shard
    this.#isHere = `(SELECT count(*) FROM pg_catalog.pg_dist_placement
      WHERE shardid = ${shard} AND groupid = ${node_group} AND shardstate = 1)`
    this.#tables = new Map(itemsOf(names).map((name, index) => [name, own[index] ?? name]))
    this.#tenants = tenants
  }

  /**
   * The statement for the shard's own tables. A shard that was moved stays behind for a while, with old rows, so the statement divides
   * by zero if the snapshot it reads does not have the shard here. That condition names no column: it is judged once, before any row.
   */
  reading(statement: Statement): Statement {
    const { text, name } = statement
    if (name === undefined) return { ...statement, text: this.#ifHere(text) }
    const known = this.#texts.get(text) ?? this.#ifHere(text)
    this.#texts.set(text, known)
    return { ...statement, text: known, name: `${name} ${this.#id}` }
  }

  /** A call of a function that writes, as a call of the shard's own. */
  writing({ text, name, ...rest }: Statement): Statement {
    return {
      ...rest,
      text: text.replace(/^SELECT (\w+)\(/, `SELECT pg_temp.$1_${this.#id}(`),
      ...(name !== undefined && { name: `${name} ${this.#id}` }),
    }
  }

  /**
   * Makes the functions of that name for one session, given their definitions for the whole.
   *
   * A move locks the metadata of its shards at every node before it copies the last rows, and lets go when every node knows the new
   * place. Citus holds that lock while it writes, and so do these functions. Having it, they look whether the shard is still here.
   */
  functions(definitions: readonly string[]): string[] {
    const names = definitions.map(definition => /FUNCTION (?:\S+\.)?(\w+)\(/.exec(definition)?.[1])
    const call = new RegExp(`(?:\\S+\\.)?\\b(${names.join('|')})\\(`, 'g')
    const own = definitions.map(definition =>
      definition
        .replaceAll(
          /\bINSERT INTO (\w+)/g,
          (_all, name: string) => `INSERT INTO ${this.#own(name)} AS ${name}`,
        )
        .replaceAll(
          /\b(FROM|JOIN|UPDATE) (\w+)/g,
          (_all, word: string, name: string) => `${word} ${this.#own(name)}`,
        )
        .replaceAll(/\bPERFORM FROM tenants\b/g, `PERFORM FROM ${this.#tenants}`)
        .replace(/(FUNCTION \S*apply_changes\(.*?\bBEGIN\b)/s, `$1 ${this.#lockIfHere()}`)
        .replaceAll(call, `pg_temp.$1_${this.#id}(`),
    )
    // Only the owner of the tables may take the lock.
    return [...own, this.#lock('SELECT')]
  }

  #lock(verb: 'SELECT' | 'PERFORM'): string {
    return `${verb} pg_catalog.lock_shard_metadata(${shareLock}, '{${this.#id}}')`
  }

  #lockIfHere(): string {
    return `
      ${this.#lock('PERFORM')};
      IF ${this.#isHere} = 0 THEN RAISE EXCEPTION 'the shard was moved' USING ERRCODE = '${movedAway}'; END IF;`
  }

  #ifHere(text: string): string {
    const own = text.replaceAll(
      /\b(FROM|JOIN) (\w+)/g,
      (_all, word: string, name: string) => `${word} ${this.#own(name)}`,
    )
    return `SELECT * FROM (${own}\n) asked WHERE 1 / ${this.#isHere} = 1`
  }

  #own(name: string): string {
    return this.#tables.get(name) ?? name
  }
}

/** An array of names, as the server writes it. */
const itemsOf = (array: string): string[] => array.slice(1, -1).split(',')
