import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Config } from '../../src/config/config.ts'
import { migrations } from '../../src/store/sqlite/migrate.ts'
import { becomeLaterRelease } from '../rig/later-migration.ts'
import { type Program, type Result, Site } from '../rig/program.ts'
import { checkStorage, examineStorage } from './check-storage.ts'
import { complaintsOf } from './complaints.ts'
import { type KillOrder, orderTo } from './kill-order.ts'
import { KillableCitus } from './killable-citus.ts'
import { KillableDatabase } from './killable-database.ts'
import { configOf, newTenantWith } from './new-tenant.ts'
import { olderSchema } from './older-schema.ts'
import { Partner } from './partner.ts'
import type { Charging, Target } from './target.ts'

export type EngineName = KillOrder['engine']
export type FleetOptions = {
  readonly engine: EngineName
  readonly nodes: number
  /** Processes per node. */
  readonly workers: number
}
type Node = { readonly program: Program; readonly url: string }

/** A vault of one or more nodes on one storage. The crash oracle controls its nodes, clock and database. */
export class Fleet implements Target {
  readonly engine: EngineName
  readonly size: number
  readonly #workers: number
  readonly #site = new Site()
  readonly #database: KillableDatabase | KillableCitus | undefined
  readonly #nodes = new Map<number, Node>()
  /** Nodes that once lost their database may complain about it. */
  readonly #excused = new Set<Node>()
  readonly #partner: Partner
  readonly #partnerFlags: readonly string[]
  #keys: Target['keys'] | undefined
  charging: Charging | undefined
  #storageIsBack: Promise<void> = Promise.resolve()
  clockMs = 0
  #databaseDied = false
  #leaveLaterRelease: (() => void) | undefined

  private constructor(
    { engine, nodes, workers }: FleetOptions,
    database: KillableDatabase | KillableCitus | undefined,
    partner: Partner,
  ) {
    this.engine = engine
    this.size = nodes
    this.#workers = workers
    this.#database = database
    this.#partner = partner
    this.#partnerFlags = partner.flags((name, content) => this.#site.file(name, content))
  }

  static async open(options: FleetOptions): Promise<Fleet> {
    const { engine, nodes } = options
    const partner = await Partner.start()
    if (engine === 'citus') return new Fleet(options, await KillableCitus.start(nodes), partner)
    return new Fleet(
      options,
      engine === 'postgres' ? await KillableDatabase.start(nodes) : undefined,
      partner,
    )
  }

  get keys(): Target['keys'] {
    assert.ok(this.#keys, 'there is no tenant yet')
    return this.#keys
  }

  /** Workers whose primary was killed, or nodes whose database was, report it before they end or go on. */
  get isShaken(): boolean {
    return this.#databaseDied || this.#workers > 1
  }

  get hasVault(): boolean {
    return this.#keys !== undefined
  }

  get urls(): readonly string[] {
    return [...this.#nodes.values()].map(({ url }) => url)
  }

  async reach(pick: (count: number) => number): Promise<string | undefined> {
    await this.#storageIsBack
    const { urls } = this
    return urls[pick(urls.length)]
  }

  /** Afterwards every node runs; those with an order were started with it. */
  async startAll(orders: Readonly<Record<number, Partial<KillOrder>>> = {}): Promise<void> {
    // The nodes are of a later release (kill-points.ts), so that one can be killed while it migrates. One may have made the vault.
    this.#leaveLaterRelease ??= becomeLaterRelease()
    if (this.#keys === undefined) {
      const { keys, charging } = await newTenantWith(this.#config(), this.#partner)
      this.#keys = keys
      this.charging = charging
    }
    for (let number = 1; number <= this.size; number++) {
      if (orders[number] !== undefined) await this.#end(number)
      if (!this.#nodes.has(number)) await this.start(number, orders[number])
    }
  }

  async start(number: number, order: Partial<KillOrder> = {}): Promise<void> {
    const program = this.begin(number, order)
    const { url } = JSON.parse(await program.logged('listening'))
    this.#nodes.set(number, { program, url })
    void program.exited.then(() => {
      if (this.#nodes.get(number)?.program === program) this.#nodes.delete(number)
    })
  }

  /** Starts a node that may die before it answers. */
  begin(number: number, order: Partial<KillOrder>, ...flags: string[]): Program {
    const place = ['--port', '0', '--workers', String(this.#workers)]
    const vault = this.#database === undefined ? this.#site.vault : this.#site.keys
    return this.#site.start(['serve', ...place, ...vault, ...this.#partnerFlags, ...flags], {
      ...orderTo({ engine: this.engine, clockMs: this.clockMs, ...order }),
      ...this.#database?.environmentOf(number),
    })
  }

  kill(number: number): void {
    this.#nodes.get(number)?.program.child.kill('SIGKILL')
  }

  /** Resolves once the node was killed and storage has finished what it still had to do for it. */
  async killed(number: number): Promise<void> {
    const node = this.#nodes.get(number)
    if (node === undefined) return
    const { signal } = await this.#ended(node)
    assert.equal(signal, 'SIGKILL', 'a node ended by itself')
    this.#nodes.delete(number)
    await this.#database?.hasLetGo(number)
  }

  async killAll(): Promise<void> {
    const numbers = [...this.#nodes.keys()]
    for (const number of numbers) this.kill(number)
    await Promise.all(numbers.map(number => this.killed(number)))
  }

  /** Nothing new is sent from the database's death until it is back. */
  async killDatabase(options: { inCheckpoint: boolean }): Promise<void> {
    const database = this.#shakenDatabase()
    await database.kill(options)
    this.#storageIsBack = database.startAgain()
    await this.#storageIsBack
  }

  /** The cluster under a vault on Citus. Whoever is about to kill one of its servers says so. */
  cluster(options: { isKilled: boolean }): KillableCitus {
    assert.ok(this.#database instanceof KillableCitus)
    if (options.isKilled) this.#shake()
    return this.#database
  }

  /** From now on everything answered is in two places, and the second server can take over. */
  async addStandby(): Promise<void> {
    await this.#shakenDatabase().addStandby()
  }

  /**
   * The database dies, every node says so, and the standby takes over, while requests go on. A database that falls
   * silent is noticed only later.
   */
  async failOver({ isSilent }: { isSilent: boolean }): Promise<void> {
    const database = this.#shakenDatabase()
    if (isSilent) await database.failOver('freeze', async () => {})
    else await database.failOver('kill', () => this.#allAway())
  }

  /** The server that died is back, unaware that another one took over, and for a moment is the only one. */
  async formerComesBack(): Promise<void> {
    await this.#shakenDatabase().formerComesBack(() => this.#allAway())
  }

  async formerIsGone(): Promise<void> {
    if (this.#database instanceof KillableDatabase) await this.#database.removeOther()
  }

  /** Resolves once every living node finds its storage. */
  async allReady(): Promise<void> {
    for (const { url } of this.#nodes.values()) while ((await fetch(`${url}/ready`)).status !== 200);
  }

  /** Reverts storage to the schema of an older release. No node may be running. */
  async takeSchemaBack(): Promise<void> {
    if (this.#database instanceof KillableDatabase) return this.#database.takeSchemaBack()
    const { statements, number } = olderSchema(migrations)
    const database = this.#openFile()
    for (const sql of [...statements, `PRAGMA user_version = ${number}`]) database.exec(sql)
    database.close()
  }

  moveClock(byMs: number): void {
    this.clockMs += byMs
  }

  /** The database has recovered; from now on 503 is wrong. */
  calmDown(): void {
    this.#databaseDied = false
  }

  /** Checks index, counters and matches against the opened tokens, and that nothing is left of what was deleted. */
  async examine(): Promise<void> {
    await examineStorage(this.#config())
    await checkStorage(sql => this.#count(sql))
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#nodes.keys()].map(number => this.#end(number)))
  }

  async remove(): Promise<void> {
    this.#leaveLaterRelease?.()
    await this.#site.remove()
    this.#partner.stop()
    await this.#database?.remove()
  }

  /** Stops the node in an orderly way, if it runs. */
  async #end(number: number): Promise<void> {
    const node = this.#nodes.get(number)
    node?.program.child.kill('SIGTERM')
    if (node !== undefined) assert.equal((await this.#ended(node)).code, 0)
    this.#nodes.delete(number)
  }

  async #ended(node: Node): Promise<Result> {
    const result = await node.program.exited
    if (!this.#excused.has(node) && this.#workers === 1) assert.deepEqual(complaintsOf(result.stderr), [])
    return result
  }

  async #allAway(): Promise<void> {
    const answers = await Promise.all([...this.#nodes.values()].map(({ url }) => fetch(`${url}/ready`)))
    for (const { status, headers } of answers)
      assert.ok(status === 503 && headers.has('retry-after'), `${status} without a primary`)
  }

  #shakenDatabase(): KillableDatabase {
    assert.ok(this.#database instanceof KillableDatabase)
    this.#shake()
    return this.#database
  }

  #shake(): void {
    this.#databaseDied = true
    for (const node of this.#nodes.values()) this.#excused.add(node)
  }

  #config(): Config {
    return configOf(this.#site, this.#database?.environmentOf(0))
  }

  async #count(fromWhere: string): Promise<number> {
    const sql = `SELECT count(*) AS n FROM ${fromWhere}`
    if (this.#database !== undefined) return Number((await this.#database.ask(sql))[0]?.n)
    const database = this.#openFile()
    const n = Number(database.prepare(sql).get()?.n)
    database.close()
    return n
  }

  #openFile(): DatabaseSync {
    return new DatabaseSync(join(this.#site.data, 'vault.db'), { timeout: 5_000 })
  }
}
