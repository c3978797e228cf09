import type { Config } from '../../config/config.ts'
import { askServer, NoAnswerError, ownUrl } from '../ask-server.ts'
import type { Run } from '../command.ts'
import { print } from '../print.ts'
import { configuredStorage } from '../storage/configured-storage.ts'

type Status = {
  readonly url: string
  readonly ready: boolean
  readonly version?: string
  readonly engine?: 'SQLite' | 'PostgreSQL'
  readonly storage?: string
  /** Why it is not ready, or what is wrong although it is. */
  readonly problem?: string
}

/** Whether the server of these settings answers that it is ready. Its version is the server's, which may be another than ours. */
export const status: Run = async ({ config, flags }) => {
  const found = await look(config)
  print(flags.json, found, describe(found))
  return found.ready ? 0 : 1
}

const look = async (config: Config): Promise<Status> => {
  const place = { url: ownUrl(config), ...storageOf(config) }
  try {
    const { status: code, body } = await askServer(config, '/ready')
    const version = versionIn((await askServer(config, '/openapi.json')).body)
    const told = textsIn(body)
    const ready = code === 200 && told.status === 'ready'
    const problem = ready
      ? anchorProblem(told.anchors)
      : (told.detail ?? `it answers ${code}, and is no vault`)
    return { ...place, ready, ...(version && { version }), ...(problem && { problem }) }
  } catch (error) {
    if (!(error instanceof NoAnswerError)) throw error
    return { ...place, ready: false, problem: error.message }
  }
}

/** As far as the settings say. */
const storageOf = (config: Config): Pick<Status, 'engine' | 'storage'> =>
  config.database === undefined && config.dataFolder === undefined
    ? {}
    : {
        engine: config.database === undefined ? 'SQLite' : 'PostgreSQL',
        storage: configuredStorage(config).name,
      }

const anchorProblem = (state: string | undefined): string | undefined =>
  state === undefined ? undefined : `anchors of the log: ${state}; strongroom doctor says more`

const versionIn = (document: unknown): string | undefined =>
  typeof document === 'object' && document !== null && 'info' in document
    ? textsIn(document.info).version
    : undefined

const textsIn = (value: unknown): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(typeof value === 'object' && value !== null ? value : {}).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string',
    ),
  )

const describe = ({ url, ready, version, engine, storage, problem }: Status): string =>
  [
    `${url} is ${ready ? 'ready' : 'not ready'}`,
    ...(problem === undefined ? [] : [problem]),
    ...(version === undefined ? [] : [`version ${version}`]),
    ...(engine === undefined ? [] : [`${engine}: ${storage}`]),
  ].join('\n  ')
