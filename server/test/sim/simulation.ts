import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate as turn } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Endpoint } from '../../src/contract/endpoint.ts'
import { endpoints } from '../../src/contract/endpoints.ts'
import { holds } from '../../src/domain/access/access.ts'
import { permissionsByType } from '../../src/domain/access/permissions.ts'
import { catalogue, type Issue, VaultError } from '../../src/domain/errors.ts'
import { handlers } from '../../src/http/handlers.ts'
import { type Idempotency, idempotency, Replayed } from '../../src/http/idempotency.ts'
import { asVaultError } from '../../src/http/problem.ts'
import { envKeyProvider } from '../../src/keys/env/env-key-provider.ts'
import { newMasterKeyText } from '../../src/keys/master-key.ts'
import { isPage, wholePage } from '../../src/operations/finding/page.ts'
import { authenticate } from '../../src/operations/keys/authenticate.ts'
import { purgeDeadTenants } from '../../src/operations/maintenance/purge-dead-tenants.ts'
import { sweepExpired } from '../../src/operations/maintenance/sweep-expired.ts'
import { sweepResults } from '../../src/operations/maintenance/sweep-results.ts'
import { sweepTransients } from '../../src/operations/maintenance/sweep-transients.ts'
import { createTenant } from '../../src/operations/tenants/create-tenant.ts'
import { openVault } from '../../src/operations/vault/open-vault.ts'
import type { Caller, Idempotent, Vault } from '../../src/operations/vault/vault.ts'
import type { Store } from '../../src/store/port.ts'
import { openSqlite } from '../../src/store/sqlite/sqlite-store.ts'
import { endlessTurn, someAct } from '../rig/caller-of.ts'
import { Seeded } from '../rig/seeded.ts'
import { advance } from './advance.ts'
import { checkStorage } from './check-storage.ts'
import { type Answer, Fingerprints, judge } from './judge.ts'
import { begin, type Operation } from './operation.ts'
import { clerkRules, ownerRules, type Role, type Round, roles, writerPermissions } from './requests.ts'
import { type Committed, SimulatedStore } from './simulated-store.ts'
import { monthOf, rightsOf, type SimTenant, type World, withTenant } from './world.ts'

const tenantsMax = 2
/** After this many iterations of the event loop in which nothing happens, a request counts as hanging. */
const idleTurnsMax = 1_000

/**
 * The real operations on the real engine, with a clock and a scheduler of its own. Every answer and every write is
 * compared with a model; `run` throws at the first one that the model cannot explain.
 */
export class Simulation {
  readonly #folder = mkdtempSync(join(memoryFolder(), 'strongroom-sim-'))
  readonly #keyProvider = envKeyProvider('SIMULATED', newMasterKeyText())
  readonly #fingerprints = new Fingerprints()
  readonly #keys = new Map<string, { id: string; text: string }[]>()
  readonly #knownIds: string[][] = [[], []]
  readonly #tenantNumbers: number[] = []
  /** Tokens that reads returned and that the next usage report must count, by tenant. */
  readonly #seen: Set<string>[] = [new Set(), new Set()]
  #now = Date.parse('2026-03-01T12:00:00Z')
  #fresh = 10
  #history: World[] = [{ now: this.#now, tenants: [] }]
  #active: Operation[] = []
  #failure: unknown
  #real!: Store
  #simulated!: SimulatedStore<Operation>
  #vault!: Vault
  /** A vault on the same storage that bypasses the scheduler, for creating tenants. */
  #outside!: Vault
  #idempotency!: Idempotency
  #inspector!: DatabaseSync
  /** Storage calls carried out so far. */
  steps = 0

  static async start(): Promise<Simulation> {
    const simulation = new Simulation()
    await simulation.#open()
    for (let index = 0; index < tenantsMax; index++) await simulation.#newTenant(index)
    simulation.#inspector = new DatabaseSync(simulation.#path, { readOnly: true })
    return simulation
  }

  async stop(): Promise<void> {
    this.#inspector.close()
    await this.#real.close()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async run(round: Round): Promise<void> {
    this.#now += round.advanceMs
    this.#history = [{ ...this.#world, now: this.#now }]
    this.#failure = undefined
    const begun = round.requests.map(request =>
      begin(request, this.#world, 0, {
        keysOf: (tenant, role) => this.#keys.get(`${tenant} ${role}`) ?? [],
        knownIds: tenant => this.#knownIds[tenant] ?? [],
        fresh: () => this.#fresh++,
      }),
    )
    for (const op of begun)
      for (const rival of begun)
        if (rival !== op && rival.wire?.resultName !== undefined) op.rivals.add(rival.wire.resultName)
    this.#active = begun
    for (const op of begun) void this.#simulated.by(op, () => this.#carryOut(op))
    const isWhole = await this.#schedule(round)
    if (this.#failure !== undefined) throw this.#failure
    checkStorage(this.#inspector, this.#world, this.#tenantNumbers, {
      isSwept: isWhole && begun.length === 1 && begun[0]?.request.kind === 'sweep' && !begun[0].metFault,
    })
    for (const [index, tenant] of this.#world.tenants.entries())
      if (tenant.isDeleted) await this.#newTenant(index)
  }

  /** True if the round finished, false if the process died. */
  async #schedule({ schedule, faultsPercent, diesAfter }: Round): Promise<boolean> {
    const random = new Seeded(schedule)
    let idle = 0
    for (let step = 0; this.#active.some(op => !op.isAnswered) && this.#failure === undefined; ) {
      await turn()
      if (step === diesAfter) {
        this.#simulated.die()
        await this.#real.close()
        await this.#open()
        for (const seen of this.#seen) seen.clear()
        return false
      }
      if (this.#simulated.waiting > 0) {
        idle = 0
        step++
        this.steps++
        await this.#simulated.step(random, faultsPercent)
      } else assert.ok(++idle < idleTurnsMax, 'a request hangs')
    }
    return true
  }

  async #carryOut(op: Operation): Promise<void> {
    try {
      const answer = await this.#answer(op)
      if (this.#failure !== undefined) return
      const range = this.#history.slice(op.from)
      judge(op, answer, range, this.#fingerprints)
      this.#remember(op, answer)
    } catch (error) {
      this.#failure ??= error
    } finally {
      op.isAnswered = true
    }
  }

  async #answer(op: Operation): Promise<Answer> {
    try {
      if (op.wire === undefined) {
        await this.#sweep()
        return { status: 204 }
      }
      const body = await this.#handle(op, op.wire)
      const { status } = endpoints[op.wire.endpoint]
      return { status, ...(status !== 204 && { body: JSON.parse(JSON.stringify(body)) }) }
    } catch (error) {
      const known = asVaultError(error)
      if (known.code === 'internal') throw error
      return { status: catalogue[known.code].status }
    }
  }

  /** Does what the pipeline does, without HTTP. */
  async #handle(op: Operation, wire: NonNullable<Operation['wire']>): Promise<unknown> {
    const declared: Endpoint = endpoints[wire.endpoint]
    const known = await authenticate(this.#vault, wire.keyText)
    if (known === undefined) throw new VaultError('unauthorized')
    const caller: Caller = { ...known, work: endlessTurn, act: someAct() }
    this.#pinCaller(op, caller)
    if (!holds(caller.application, declared.permission as never)) throw new VaultError('forbidden')
    const issues: Issue[] = []
    const body = wire.body === undefined ? undefined : declared.checkBody?.(wire.body as never, '', issues)
    assert.deepEqual(issues, [], 'the simulation sends what the interface knows')
    const run = async (idempotent?: Idempotent): Promise<never> => {
      const handle = handlers[wire.endpoint] as (call: unknown) => Promise<never>
      const answer = await handle({ ...wire, body, vault: this.#vault, caller, idempotent })
      return isPage(answer) ? ((await wholePage(answer)) as never) : answer
    }
    if (wire.resultName === undefined) return run()
    const { method, path, resultName: key } = wire
    const bytes = Buffer.from(JSON.stringify(wire.body ?? null))
    const answer = await this.#idempotency.once(caller, { method, path, key, body: bytes }, run)
    return answer instanceof Replayed ? answer.answer : answer
  }

  /** The request acts with the rights and settings that were read for it. They must have been in force at some moment. */
  #pinCaller(op: Operation, { application, tenant }: Caller): void {
    const { request } = op
    if (request.kind === 'sweep') return
    const isAsRead = (known: SimTenant): boolean =>
      known.settings.fingerprint === tenant.settings.fingerprintTokens &&
      known.settings.deduplicate === tenant.settings.deduplicateTokens &&
      (request.as !== 'clerk' ||
        isDeepStrictEqual(
          application.rules.map(({ container, transform }) => [container, transform]),
          rightsOf(known, 'clerk').rules.map(({ container, transform }) => [container, transform]),
        ))
    const found = this.#history
      .slice(op.from)
      .map(world => world.tenants[request.tenant]!)
      .find(isAsRead)
    assert.ok(found, 'the caller has rights or settings that it never had while the request was under way')
    op.caller = found
  }

  async #sweep(): Promise<void> {
    const { unreadable } = await sweepExpired(this.#vault)
    assert.equal(unreadable, 0)
    await sweepTransients(this.#vault)
    await sweepResults(this.#vault)
    await purgeDeadTenants(this.#vault)
  }

  #onCommit({ owner, set }: Committed<Operation>): void {
    if (this.#failure !== undefined) return
    try {
      const next = advance(
        this.#world,
        set,
        owner,
        number => this.#tenantNumbers.indexOf(number),
        this.#history[owner?.from ?? 0]!,
      )
      this.#history.push(next)
      if (owner?.expected !== undefined) owner.wroteAt ??= this.#history.length - 1
    } catch (error) {
      this.#failure = error
    }
  }

  /** Records what only an answer reveals. */
  #remember(op: Operation, { status, body }: Answer): void {
    const { request, wire } = op
    if (request.kind === 'sweep' || wire === undefined || status >= 300) return
    const { tenant } = request
    const kept =
      wire.resultName === undefined ? undefined : this.#world.tenants[tenant]!.results.get(wire.resultName)
    if (kept !== undefined && op.wroteAt !== undefined) kept.body = withoutKeyText(body)
    if (request.kind === 'renewKey') this.#learnKey(tenant, 'clerk', body as { id: string; key?: string })
    const ids = [body].flat().map(item => (typeof item === 'string' ? item : (item as { id?: string })?.id))
    if (request.kind === 'create' || request.kind === 'tokenize')
      for (const id of ids) if (id && !this.#knownIds[tenant]!.includes(id)) this.#knownIds[tenant]!.push(id)
    if (request.kind === 'get') this.#see(tenant, ids)
    if (request.kind === 'list' || request.kind === 'cursor' || request.kind === 'search')
      this.#see(
        tenant,
        (body as { data: { id: string }[] }).data.map(({ id }) => id),
      )
    if (request.kind === 'usage') this.#checkActivity(tenant)
  }

  #see(tenant: number, ids: readonly (string | undefined)[]): void {
    for (const id of ids) if (id !== undefined) this.#seen[tenant]?.add(`${monthOf(this.#now)} ${id}`)
  }

  /** C32: a report counts what was read before it. */
  #checkActivity(tenant: number): void {
    const month = monthOf(this.#now)
    // Only reads of earlier rounds certainly came before the report.
    if (this.#active.length > 1) return
    for (const token of this.#world.tenants[tenant]!.tokens.values())
      if (this.#seen[tenant]?.has(`${month} ${token.id}`))
        assert.equal(token.activeMonth, month, `${token.id} was read and is not counted`)
  }

  #learnKey(tenant: number, role: Role, { id, key }: { id: string; key?: string }): void {
    if (key === undefined) return
    const known = this.#keys.get(`${tenant} ${role}`) ?? []
    this.#keys.set(`${tenant} ${role}`, [{ id, text: key }, ...known])
  }

  get #world(): World {
    return this.#history.at(-1)!
  }
  get #path(): string {
    return join(this.#folder, 'vault.db')
  }

  async #open(): Promise<void> {
    this.#real = openSqlite({ path: this.#path, writing: 'inline', waitingMax: 24 })
    this.#outside = await openVault({
      store: this.#real,
      keyProvider: this.#keyProvider,
      clock: () => this.#now,
    })
    this.#simulated = new SimulatedStore(this.#real, {
      commit: committed => this.#onCommit(committed),
      fault: () => {
        for (const op of this.#active) op.metFault = true
      },
    })
    // Opened again through the simulated port. The keys exist by now, so nothing waits for a scheduler.
    const opening = openVault({
      store: this.#simulated.store,
      keyProvider: this.#keyProvider,
      clock: this.#outside.clock,
    })
    await this.#simulated.step(new Seeded(0), 0)
    this.#vault = await opening
    this.#idempotency = idempotency(this.#vault, { headerPrefix: 'svc', strict: false })
  }

  async #newTenant(index: number): Promise<void> {
    const wishes = {
      owner: { type: 'private', permissions: [], rules: ownerRules },
      writer: { type: 'private', permissions: writerPermissions, rules: [] },
      clerk: { type: 'private', permissions: [], rules: clerkRules[0] ?? [] },
      manager: { type: 'management', permissions: permissionsByType.management, rules: [] },
    } as const
    let made: { tenantId: string; keys: Record<Role, string> } | undefined
    await createTenant(
      this.#outside,
      { name: 'Simulated', applications: roles.map(role => ({ key: role, name: role, ...wishes[role] })) },
      result => {
        made = result
      },
    )
    assert.ok(made)
    const row = (await this.#real.listTenants()).find(({ id }) => id === made?.tenantId)
    assert.ok(row)
    this.#tenantNumbers[index] = row.tenant
    this.#knownIds[index] = []
    this.#seen[index] = new Set()
    const applicationIds = {} as Record<Role, string>
    const keyRows = await this.#real.listApiKeys(row.tenant)
    for (const role of roles) {
      const caller = await authenticate(this.#outside, made.keys[role])
      assert.ok(caller)
      applicationIds[role] = caller.application.id
      const key = keyRows.find(({ applicationId }) => applicationId === caller.application.id)
      assert.ok(key)
      this.#keys.set(`${index} ${role}`, [{ id: key.id, text: made.keys[role] }])
    }
    const tenant: SimTenant = {
      id: made.tenantId,
      applicationIds,
      isDeleted: false,
      settings: { fingerprint: true, deduplicate: false },
      clerk: 0,
      keys: new Set(keyRows.map(({ id }) => id)),
      tokens: new Map(),
      results: new Map(),
      active: new Map(),
      lastCreated: new Map(),
    }
    const { now, tenants } = this.#world
    this.#history.push(
      index < tenants.length
        ? withTenant(this.#world, index, tenant)
        : { now, tenants: [...tenants, tenant] },
    )
  }
}

/** C33: a repetition shows no key text. */
const withoutKeyText = (body: unknown): unknown =>
  typeof body === 'object' && body !== null && 'key' in body ? undefined : body

/** Durability is not simulated, so a file system in memory is used where there is one, to avoid waiting for a disk. */
const memoryFolder = (): string => (existsSync('/dev/shm') ? '/dev/shm' : tmpdir())
