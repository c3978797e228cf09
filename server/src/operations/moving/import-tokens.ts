import { endpoints } from '../../contract/endpoints.ts'
import { Act, type ActKind } from '../../domain/acts/act.ts'
import { type ErrorCode, type Issue, VaultError } from '../../domain/errors.ts'
import type { RawRow } from '../../domain/moving/raw-row.ts'
import type { RowForm } from '../../domain/moving/row-form.ts'
import { RequestCosts } from '../../domain/tokens/request-costs.ts'
import { readDefinition, type TokenDefinition } from '../../domain/tokens/token-definition.ts'
import { createTokens } from '../tokens/create-tokens.ts'
import { isDeduplicated } from '../tokens/deduplication/match.ts'
import type { Caller, Vault } from '../vault/vault.ts'
import { readRowExtras, withExtras } from './exported-row.ts'
import { commitState, type ImportState, type KeptImport, replacing } from './kept-import.ts'
import type { RowBatch } from './row-batches.ts'

/** Why a row was not taken in: where it is, and what is wrong, never a value. */
export type Reject = { readonly line: number; readonly field: string; readonly reason: string }

/**
 * Where rejects are written. They are put at a place rather than appended, because a batch whose commit failed is tried again in
 * parts. Returns where the next ones go, once these are durable.
 */
export type RejectsSink = { put(rejects: readonly Reject[], at: number): number }

/** A row of the file, and what becomes of it. */
type Item = { readonly row: RawRow } & (
  | { readonly definition: TokenDefinition; readonly id: string | undefined }
  | { readonly issues: readonly Issue[] }
)
type Good = Extract<Item, { definition: unknown }>

/** A batch of at most this many bytes is checked while the one before it is stored. */
const bytesBeside = 1 << 18

/** Where a batch ends, or a part of one, of which only the whole has a digest. */
type Part = Pick<ImportState, 'end' | 'digested' | 'digest'>

type Settings = {
  readonly form: RowForm
  readonly kept: KeptImport
  readonly state: ImportState
  readonly rejects: RejectsSink
  readonly kind: ActKind
  /** Checks everything and stores nothing. */
  readonly isDry: boolean
}

/**
 * Creates the tokens of a file, batch by batch, as `POST /tokens` would. In the write set of a batch is how far the import has come:
 * whenever it is killed, the next run goes on behind the last row that was stored, and two runs at once cannot both store a row.
 */
export class TokenImport {
  readonly #vault: Vault
  readonly #operator: Caller
  readonly #settings: Settings
  #kept: KeptImport
  state: ImportState

  constructor(vault: Vault, operator: Caller, settings: Settings) {
    this.#vault = vault
    this.#operator = { ...operator, application: { ...operator.application, permissions: ['token:create'] } }
    this.#settings = settings
    this.#kept = settings.kept
    this.state = settings.state
  }

  /** Resolves when all rows are stored or rejected. `report` is called after each batch. */
  async run(batches: AsyncIterable<RowBatch>, report: (state: ImportState) => void): Promise<ImportState> {
    // While a batch is stored, the next one is read and checked.
    let storing: Promise<void> = Promise.resolve()
    let began = this.state.end
    try {
      for await (const batch of batches) {
        // Of rows as large as they may be, two batches at once would take too much memory.
        if (batch.end - began > bytesBeside) await storing
        began = batch.end
        const items = await this.#check(batch.rows)
        await storing
        storing = this.#store(items, batch).then(() => report(this.state))
        // It is awaited above or below. Until then, a failure must not end the process.
        storing.catch(() => undefined)
      }
    } finally {
      // What ends the reading does not end what is being stored.
      await storing
    }
    await this.#advance({ ...this.state, isDone: true })
    return this.state
  }

  async #check(rows: readonly RawRow[]): Promise<Item[]> {
    const items: Item[] = []
    for (const row of rows) {
      if (!this.#operator.work.hasTurn) await this.#operator.work.turn()
      items.push(this.#checkRow(row))
    }
    return items
  }

  #checkRow(row: RawRow): Item {
    const issues: Issue[] = []
    try {
      const { body: sent, extras } = readRowExtras(this.#settings.form.body(row), issues)
      const body = endpoints.createToken.checkBody(sent, '', issues)
      const definition =
        body && readDefinition(body, '', this.#vault.clock(), issues, new RequestCosts(body.data))
      if (definition !== undefined && issues.length === 0)
        return { row, definition: withExtras(definition, extras), id: body?.id }
      return { row, issues }
    } catch (error) {
      if (error instanceof VaultError && rowFaults.has(error.code)) return { row, issues: issuesOf(error) }
      throw error
    }
  }

  async #store(items: readonly Item[], batch: RowBatch): Promise<void> {
    await this.#storeOrSplit(await this.#withoutTaken(items), { ...batch, digested: batch.end })
  }

  /** Ids that are taken are found for all rows at once. */
  async #withoutTaken(items: readonly Item[]): Promise<Item[]> {
    const { store, clock } = this.#vault
    const ids = items.map(item => this.#literalId(item))
    const asked = [...new Set(ids.flatMap(id => id ?? []))]
    if (asked.length === 0) return [...items]
    const now = clock()
    const { rows } = await store.getTokens(this.#operator.tenantNumber, asked)
    const taken = new Set(
      rows.filter(({ expiresAt }) => expiresAt === null || expiresAt > now).map(({ id }) => id),
    )
    return items.map((item, at) => {
      const id = ids[at]
      if (id === undefined) return item
      if (taken.has(id)) return { row: item.row, issues: [idIsTaken] }
      taken.add(id)
      return item
    })
  }

  /** An equal token wins over a taken id (C15), so rows that look for one are not judged by their id. */
  #literalId(item: Item): string | undefined {
    if (!('definition' in item)) return undefined
    const { id, content } = item.definition
    return id?.isLiteral === true && !isDeduplicated(this.#operator, content.deduplicate)
      ? item.id
      : undefined
  }

  /** A row that cannot be stored is found by halving: it must not keep the others out. */
  async #storeOrSplit(items: readonly Item[], batch: Part): Promise<void> {
    try {
      await this.#storeAll(items, batch)
    } catch (error) {
      const goods = items.filter(isGood)
      if (!(error instanceof VaultError) || !rowFaults.has(error.code) || goods.length === 0) throw error
      if (items.length === 1) {
        const rejected = items.map(({ row }) => ({ row, issues: issuesOf(error) }))
        await this.#storeOrSplit(rejected, batch)
        return
      }
      const middle = Math.ceil(items.length / 2)
      const first = items.slice(0, middle)
      await this.#storeOrSplit(first, { ...batch, end: first.at(-1)?.row.end ?? batch.end })
      await this.#storeOrSplit(items.slice(middle), batch)
    }
  }

  async #storeAll(items: readonly Item[], { end, digested, digest }: Part): Promise<void> {
    const rejects = items.flatMap(item => ('issues' in item ? rejectsOf(item.row, item.issues) : []))
    const goods = items.filter(isGood)
    const { state } = this
    const next: ImportState = {
      ...state,
      end,
      digested,
      digest,
      line: items.at(-1)?.row.line ?? state.line,
      imported: state.imported + goods.length,
      rejected: state.rejected + items.length - goods.length,
      rejectedBytes: this.#settings.rejects.put(rejects, state.rejectedBytes),
    }
    if (goods.length === 0 || this.#settings.isDry) await this.#advance(next)
    else await this.#create(goods, next)
  }

  async #create(goods: readonly Good[], next: ImportState): Promise<void> {
    const { keyring, scheduler } = this.#vault
    const { tenantNumber, tenant, act, actor } = this.#operator
    const caller: Caller = {
      ...this.#operator,
      // The rows of the next batch are checked meanwhile, and a work waits for one turn at a time.
      work: scheduler.background('import'),
      // A long import sees new data keys.
      keys: await keyring.of(tenantNumber, tenant.id),
      act: new Act(this.#settings.kind, actor, act.traceId),
    }
    let replaced: ReturnType<typeof replacing> | undefined
    await createTokens(
      this.#vault,
      caller,
      goods.map(({ definition }) => definition),
      {
        show: ({ deduplicated }) => deduplicated,
        answer: shown => shown.filter(deduplicated => deduplicated).length,
        alongside: deduplicated => {
          const state = { ...next, deduplicated: next.deduplicated + deduplicated }
          replaced = replacing(caller, this.#kept, state)
          return replaced.changes
        },
      },
    )
    this.#hasMoved(replaced?.kept)
  }

  /** Only the state moves: there was nothing to store. */
  async #advance(next: ImportState): Promise<void> {
    if (this.#settings.isDry) {
      this.state = next
      return
    }
    const { kept, changes } = replacing(this.#operator, this.#kept, next)
    await commitState(this.#vault, this.#operator, changes)
    this.#hasMoved(kept)
  }

  #hasMoved(kept: KeptImport | undefined): void {
    if (kept?.state === undefined) return
    this.#kept = kept
    this.state = kept.state
  }
}

const isGood = (item: Item): item is Good => 'definition' in item

/** Refusals that are about the row. All others end the import. */
const rowFaults: ReadonlySet<ErrorCode> = new Set(['invalidRequest', 'idTaken'])

const idIsTaken: Issue = { path: 'id', message: 'is taken: a token with this id exists' }

const issuesOf = ({ code, issues, message }: VaultError): readonly Issue[] =>
  code === 'idTaken' ? [idIsTaken] : issues.length > 0 ? issues : [{ path: '$', message }]

const rejectsOf = ({ line }: RawRow, issues: readonly Issue[]): Reject[] =>
  issues.map(({ path, message }) => ({ line, field: path, reason: message }))
