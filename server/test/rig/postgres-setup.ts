import { type Cluster, startCluster } from './postgres-cluster.ts'
import { serverVariable } from './postgres-databases.ts'

let cluster: Cluster | undefined

/** One server for all test files of a run, unless there is one already. */
export const globalSetup = async (): Promise<void> => {
  if (process.env[serverVariable]) return
  cluster = await startCluster()
  process.env[serverVariable] = cluster.url
}

export const globalTeardown = async (): Promise<void> => {
  await cluster?.stop()
}
