import { binaries } from './postgres-binaries.ts'
import { type Cluster, startCluster } from './postgres-cluster.ts'
import { serverVariable } from './postgres-databases.ts'
import { temporaryFolder } from './temporary-folder.ts'

let cluster: Cluster | undefined
let compiled: ReturnType<typeof temporaryFolder> | undefined

/** One server for all test files of a run, unless one is given. All processes also share its programs and one compile cache. */
export const globalSetup = async (): Promise<void> => {
  compiled = temporaryFolder()
  process.env.NODE_COMPILE_CACHE ??= compiled.path
  binaries()
  if (process.env[serverVariable]) return
  cluster = await startCluster()
  process.env[serverVariable] = cluster.url
}

export const globalTeardown = async (): Promise<void> => {
  await cluster?.stop()
  compiled?.remove()
}
