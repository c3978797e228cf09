import { setTimeout as pause } from 'node:timers/promises'
import { distributePostgres } from '../server/src/store/postgres/postgres-store.ts'
import { joinNodes } from '../server/test/rig/citus-cluster.ts'
import { startCitusServer, useProgramsWithCitus } from '../server/test/rig/own-citus.ts'
import { type Cluster, startCluster } from '../server/test/rig/postgres-cluster.ts'
import { settingsOf } from '../server/test/rig/postgres-databases.ts'
import { childrenCpuMicroseconds } from './cpu-time.ts'
import type { RequestKind } from './load.ts'
import { load } from './processes.ts'
import { type Served, startServed } from './served.ts'
import { nextSerial, rounds, seconds } from './settings.ts'
import { median } from './statistics.ts'

const settings = { fsync: 'on', full_page_writes: 'on', shared_buffers: '128MB' }

type Measured = { readonly name: string; readonly kind: RequestKind; readonly key: (keys: Keys) => string }
type Keys = Served['keys'] & { readonly masked: string }

const measured: readonly Measured[] = [
  { name: 'create a card', kind: 'create', key: keys => keys.api_key },
  { name: 'get, masked', kind: 'get', key: keys => keys.masked },
  { name: 'get with reveal, and its record', kind: 'get', key: keys => keys.private_api_key },
]

/**
 * `citus`: what a request costs the servers of a cluster, a coordinator and two workers, compared with one PostgreSQL of the same
 * build. Needs a PostgreSQL with Citus (`PG_CONFIG`). What servers do without requests is measured as well, and subtracted.
 */
export const benchCitus = async (): Promise<void> => {
  useProgramsWithCitus()
  const nodes: Cluster[] = []
  try {
    for (let node = 0; node < 3; node++) nodes.push(await startCitusServer(settings))
    await joinNodes(nodes.map(({ url }) => url))
    const [coordinator] = nodes
    if (coordinator === undefined) throw new Error('there is no coordinator')
    await distributePostgres(settingsOf(coordinator.url))
    const plain = await startCluster(settings)
    nodes.push(plain)
    const vaults = await Promise.all(
      [plain, coordinator].map(async ({ url }) => {
        const served = await startServed(1, url)
        return { served, keys: { ...served.keys, masked: await maskedKey(served) } }
      }),
    )
    const [onPlain, onCluster] = vaults
    if (onPlain === undefined || onCluster === undefined) throw new Error('there are two vaults')

    const idle = await idlePerSecond(nodes)
    const costs = new Map(measured.map(({ name }) => [name, nodes.map(() => [] as number[])]))
    for (let round = -1; round < rounds; round++)
      for (const { name, kind, key } of measured)
        for (const [vault, own] of [
          [onPlain, [3]],
          [onCluster, [0, 1, 2]],
        ] as const) {
          const { served, keys } = vault
          const before = nodes.map(cpuOf)
          const job = { port: served.port, kind, key: key(keys), ids: served.ids, connections: 32, seconds }
          const { requests, seconds: took } = await load({ ...job, serial: nextSerial() })
          // The first round is for plans and caches.
          if (round < 0) continue
          for (const node of own) {
            const spent = cpuOf(nodes[node] as Cluster) - (before[node] ?? 0) - (idle[node] ?? 0) * took
            costs.get(name)?.[node]?.push(spent / requests)
          }
        }
    console.log(`µs of processor per request; idle, per second: ${idle.map(Math.round).join(', ')}`)
    console.table(
      measured.map(({ name }) => {
        const [atCoordinator = 0, first = 0, second = 0, alone = 0] = (costs.get(name) ?? []).map(median)
        return {
          name,
          'plain PostgreSQL': alone.toFixed(0),
          coordinator: atCoordinator.toFixed(0),
          workers: (first + second).toFixed(0),
          'cluster / plain': ((atCoordinator + first + second) / alone).toFixed(2),
        }
      }),
    )
    for (const { served } of vaults) await served.stop()
  } finally {
    for (const node of nodes) await node.stop()
  }
}

const cpuOf = (server: Cluster): number => childrenCpuMicroseconds(server.pid())

const idlePerSecond = async (servers: readonly Cluster[]): Promise<number[]> => {
  const before = servers.map(cpuOf)
  await pause(seconds * 1_000)
  return servers.map((server, index) => (cpuOf(server) - (before[index] ?? 0)) / seconds)
}

/** The key of an application that sees masks alone, whose reads leave no record. */
const maskedKey = async ({ port, keys }: Served): Promise<string> => {
  const rules = [{ priority: 1, container: '/', transform: 'mask', permissions: ['token:read'] }]
  const reply = await fetch(`http://127.0.0.1:${port}/applications`, {
    method: 'POST',
    headers: { 'svc-api-key': keys.management_api_key, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'masked', type: 'private', rules, create_key: true }),
  })
  const application = (await reply.json()) as { key: string }
  return application.key
}
