import { setTimeout as pause } from 'node:timers/promises'
import type { Seeded } from '../rig/seeded.ts'
import type { EngineName, Fleet, FleetOptions } from './fleet.ts'
import type { Point } from './kill-order.ts'
import { type KillableCitus, transferModes } from './killable-citus.ts'
import type { Ledger } from './ledger.ts'
import { Load } from './load.ts'

/** What a plan works with. */
export type Scene = {
  readonly fleet: Fleet
  readonly ledger: Ledger
  readonly random: Seeded
  readonly seed: number
  readonly round: number
}

/** One way to kill nodes or their database. Afterwards nothing more is sent, and nodes may be down. */
export type KillPlan = {
  readonly name: string
  readonly engines: readonly EngineName[]
  /** Not possible where the process that writes differs from those that answer. */
  readonly onlyAlone?: true
  readonly nodesMin?: number
  /** Returns a description of what happened. */
  readonly happen: (scene: Scene) => Promise<string>
}

const pointsUnderLoad: readonly Point[] = ['before-commit', 'in-commit', 'after-commit', 'before-answer']
const all: readonly EngineName[] = ['sqlite', 'postgres', 'citus']
const both: readonly EngineName[] = ['sqlite', 'postgres']
const answersMax = 120
/** How many answers come from the others before the dead node is back, and again after that. */
const answersMeanwhile = 30
const passesMax = 40
const statementsMax = 400
/** How far into a commit or a checkpoint, which takes a few milliseconds. */
const delayOf = (random: Seeded): number => random.below(200) / 100
/** Longer than the life of a cvc, and of tokens that live for half an hour. */
const clockStepMs = 61 * 60_000

/** The other nodes go on, and the dead one comes back while they do. */
const comeBack = async ({ fleet }: Scene, load: Load, victim: number): Promise<void> => {
  await load.while(fleet.killed(victim))
  if (fleet.size > 1) {
    await load.answers(answersMeanwhile)
    await fleet.start(victim)
    await load.answers(answersMeanwhile)
  }
  await load.end()
}

const atAnyMoment: KillPlan = {
  name: 'any-moment',
  engines: all,
  happen: async scene => {
    const { fleet, ledger, random } = scene
    await fleet.startAll()
    const victim = random.between(1, fleet.size)
    const after = random.between(1, answersMax)
    const load = new Load(fleet, ledger, scene)
    await load.answers(after)
    fleet.kill(victim)
    await comeBack(scene, load, victim)
    return `node ${victim} killed after ${after} answers`
  },
}

/** The node kills itself under load, the n-th time it passes the point. */
const underLoad = (
  point: Point,
  { passes = passesMax, ...limits }: Partial<KillPlan> & { passes?: number } = {},
): KillPlan => ({
  name: point,
  engines: all,
  ...limits,
  happen: async scene => {
    const { fleet, ledger, random } = scene
    const victim = random.between(1, fleet.size)
    const order = { point, pass: random.between(1, passes), delayMs: delayOf(random) }
    await fleet.startAll({ [victim]: order })
    const load = new Load(fleet, ledger, scene)
    await comeBack(scene, load, victim)
    return `node ${victim} killed ${point}, pass ${order.pass}`
  },
})

/** The whole vault dies, time passes, and then a node with much to tidy up dies while doing so. */
const atUpkeep = (point: Point, engines: readonly EngineName[], passes: number): KillPlan => ({
  name: point,
  engines,
  happen: async scene => {
    const { fleet, ledger, random } = scene
    await fleet.startAll()
    const load = new Load(fleet, ledger, scene)
    await load.answers(random.between(answersMax / 2, answersMax))
    await fleet.killAll()
    await load.end()
    fleet.moveClock(clockStepMs)
    ledger.books.lapse(name => name.endsWith('.brief'))
    const order = { point, pass: random.between(1, passes), delayMs: delayOf(random) }
    const program = fleet.begin(1, order, '--log-level', 'debug')
    const isTidy = (line: string): boolean => line.includes('"job":"rotate-data-keys"')
    const end = await Promise.race([
      program.exited.then(() => 'killed'),
      program.line('stderr', isTidy).then(
        () => 'lived through',
        () => 'killed',
      ),
    ])
    await program.end()
    return `node 1 ${end} ${point}, pass ${order.pass}`
  },
})

/**
 * Migrates storage left by an older release, or creates it. The node dies at each pass of the point in turn, until one
 * start gets through.
 */
const atMigration: KillPlan = {
  name: 'in-migration',
  engines: both,
  onlyAlone: true,
  happen: async ({ fleet }) => {
    const isNew = !fleet.hasVault
    if (!isNew) {
      await fleet.killAll()
      await fleet.takeSchemaBack()
    }
    for (let pass = 1; ; pass++) {
      const program = fleet.begin(1, { point: 'in-migration', pass })
      const isUp = await program.logged('listening').then(
        () => true,
        () => false,
      )
      await program.end()
      if (isUp) return `killed ${pass - 1} times in migrations of ${isNew ? 'a new' : 'an older'} vault`
    }
  },
}

/** How long the work took, in milliseconds. Fails after `maxMs`. */
const inTime = async (maxMs: number, work: Promise<unknown>): Promise<number> => {
  const since = performance.now()
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error('the new primary was not found')), maxMs)
  await Promise.race([work, late.promise]).finally(() => clearTimeout(timer))
  return Math.round(performance.now() - since)
}

const databaseDies = (name: string, options: { inCheckpoint: boolean }): KillPlan => ({
  name,
  engines: ['postgres'],
  happen: async scene => {
    const { fleet, ledger, random } = scene
    await fleet.startAll()
    const load = new Load(fleet, ledger, scene)
    const after = random.between(1, answersMax)
    await load.answers(after)
    load.goOn()
    await load.while(fleet.killDatabase(options))
    await load.answers(2 * answersMeanwhile)
    await load.end()
    return `database killed after ${after} answers${options.inCheckpoint ? ', in a checkpoint' : ''}`
  },
})

/** The database dies while one of several nodes is dead as well. */
const nodeThenDatabase: KillPlan = {
  name: 'node-then-database',
  engines: ['postgres'],
  nodesMin: 2,
  happen: async scene => {
    const { fleet, ledger, random } = scene
    const victim = random.between(1, fleet.size)
    const point = random.pick(pointsUnderLoad)
    const pass = random.between(1, passesMax)
    await fleet.startAll({ [victim]: { ...(point && { point }), pass } })
    const load = new Load(fleet, ledger, scene)
    await load.while(fleet.killed(victim))
    await load.answers(answersMeanwhile)
    load.goOn()
    await load.while(fleet.killDatabase({ inCheckpoint: false }))
    await load.answers(answersMeanwhile)
    await fleet.start(victim)
    await load.answers(answersMeanwhile)
    await load.end()
    return `node ${victim} killed ${point}, pass ${pass}, then the database`
  },
}

/**
 * The database dies, and its standby takes over while the load goes on. Later the server that died comes back and still
 * believes it is the primary; for a moment it is the only one.
 */
const databaseFailsOver = (
  name: string,
  { isSilent, maxMs }: { isSilent: boolean; maxMs: number },
): KillPlan => ({
  name,
  engines: ['postgres'],
  happen: async scene => {
    const { fleet, ledger, random } = scene
    await fleet.startAll()
    await fleet.addStandby()
    const load = new Load(fleet, ledger, scene)
    const after = random.between(1, answersMax)
    await load.answers(after)
    load.goOn()
    await load.while(fleet.failOver({ isSilent }))
    const [firstMs, allMs] = await Promise.all([
      inTime(maxMs, load.answers(1)),
      inTime(maxMs, fleet.allReady()),
    ])
    await inTime(maxMs, load.answers(answersMeanwhile))
    load.goOn()
    await load.while(fleet.formerComesBack())
    await inTime(maxMs, Promise.all([fleet.allReady(), load.answers(answersMeanwhile)]))
    await load.end()
    await fleet.formerIsGone()
    return `${name} after ${after} answers, then the first in ${firstMs} ms, all nodes ready in ${allMs} ms`
  },
})

/** Something happens to the servers of a cluster under load, and the load goes on. */
const inCluster = (
  name: string,
  happen: (cluster: KillableCitus, scene: Scene, load: Load) => Promise<string>,
  { isKilled = false }: { isKilled?: boolean } = {},
): KillPlan => ({
  name,
  engines: ['citus'],
  happen: async scene => {
    const { fleet, ledger, random } = scene
    await fleet.startAll()
    const load = new Load(fleet, ledger, scene)
    const after = random.between(1, answersMax)
    await load.answers(after)
    load.goOn()
    const told = await load.while(happen(fleet.cluster({ isKilled }), scene, load))
    await inTime(backMaxMs, Promise.all([fleet.allReady(), load.answers(2 * answersMeanwhile)]))
    await load.end()
    return `${told}, after ${after} answers`
  },
})

/** A server of a cluster stays away until this many more writes have got no answer. */
const lossesMax = 12
const someLosses = async ({ ledger: { counts }, random }: Scene): Promise<void> => {
  const enough = counts.lost + random.between(1, lossesMax)
  while (counts.lost < enough) await pause(5)
}
/** A node finds its way within this time once the servers are back. */
const backMaxMs = 20_000

const clusterPlans: readonly KillPlan[] = [
  inCluster('shard-moves', async (cluster, { random }) => {
    const modes = [...transferModes, random.pick(transferModes) ?? 'block_writes']
    for (const mode of modes) await cluster.moveShard(mode)
    return `the tenant's shard moved: ${modes.join(', ')}`
  }),
  inCluster(
    'worker',
    async (cluster, scene) => {
      const which = scene.random.below(3) === 0 ? 'other' : 'own'
      await cluster.killWorker(which, () => someLosses(scene))
      return `the ${which === 'own' ? "tenant's" : 'other'} worker killed`
    },
    { isKilled: true },
  ),
  inCluster(
    'coordinator',
    async (cluster, scene) => {
      await cluster.killCoordinator(() => someLosses(scene))
      return 'the coordinator killed'
    },
    { isKilled: true },
  ),
  inCluster('drained', async (cluster, { random }, load) => {
    const mode = random.pick(transferModes) ?? 'block_writes'
    await cluster.addWorker()
    await load.answers(answersMeanwhile)
    load.goOn()
    await cluster.drainWorker(mode)
    return `a worker added and drained (${mode})`
  }),
  inCluster(
    'worker-address',
    async cluster => {
      await cluster.moveWorker()
      return "the tenant's worker killed and its standby promoted at another address"
    },
    { isKilled: true },
  ),
]

const allKillPlans: readonly KillPlan[] = [
  atMigration,
  atAnyMoment,
  underLoad('in-batch', { engines: ['sqlite'], passes: statementsMax }),
  underLoad('before-commit'),
  underLoad('in-commit'),
  databaseDies('database', { inCheckpoint: false }),
  underLoad('after-commit'),
  underLoad('before-answer', { onlyAlone: true }),
  underLoad('before-call', { onlyAlone: true }),
  underLoad('after-call', { onlyAlone: true }),
  nodeThenDatabase,
  atUpkeep('in-sweeper', all, 6),
  atUpkeep('in-checkpoint', ['sqlite'], 1),
  databaseDies('in-checkpoint', { inCheckpoint: true }),
  databaseFailsOver('failover', { isSilent: false, maxMs: 5_000 }),
  // Three seconds until its silence is noticed, five until it is given up.
  databaseFailsOver('silent-failover', { isSilent: true, maxMs: 12_000 }),
  ...clusterPlans,
]

export const killPlanNames = [...new Set(allKillPlans.map(({ name }) => name))]

export const killPlansOf = (
  { engine, nodes, workers }: FleetOptions,
  names: readonly string[] = killPlanNames,
): readonly KillPlan[] => {
  const isPossible = (plan: KillPlan): boolean =>
    plan.engines.includes(engine) &&
    nodes >= (plan.nodesMin ?? 1) &&
    (workers === 1 || plan.onlyAlone !== true)
  return names.flatMap(name => allKillPlans.filter(plan => plan.name === name && isPossible(plan)))
}
