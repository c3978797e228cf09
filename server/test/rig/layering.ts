import { posix } from 'node:path'

/** Maps each path inside server/src to its text. */
export type Sources = ReadonlyMap<string, string>

/**
 * From low to high. A file imports from its own folder and from lower lines, not from its neighbours on the same line, with one
 * exception: a key's life ends in cryptography, which knows nothing of it.
 */
const layers: readonly (readonly string[])[] = [
  ['domain'],
  ['telemetry'],
  ['contract', 'store', 'keys', 'crypto', 'scheduling', 'outbound'],
  ['operations'],
  ['http', 'jobs'],
]
const mayUseNeighbour = (from: string, to: string): boolean => from === 'keys' && to === 'crypto'
const edges = ['service.ts', 'config', 'cli', 'testing.ts', 'testing-types.d.ts']
const readerOfTheEnvironment = 'cli'
/** Names that say nothing about the content; `index` invites barrels. */
const emptyNames = new Set(['util', 'utils', 'helper', 'helpers', 'common', 'index'])

/** Static, type-only and dynamic imports, re-exports, and `import('…')` in types. */
const importPattern =
  /^\s*(?:import|export)\b[^'"`;=]*?\bfrom\s*['"]([^'"]+)['"]|^\s*import\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]/gm
const environmentPattern = /\bprocess\s*(?:\?\.|\.)\s*env\b|\bprocess\s*\[|\}\s*=\s*process\b/

type Import = { readonly file: string; readonly target: string }

/** Everything wrong with how the files depend on each other, one line each. */
export const layeringComplaints = (sources: Sources): string[] => {
  const imports = [...sources].flatMap(([file, text]) => readImports(file, text))
  return [
    ...[...sources.keys()].flatMap(nameComplaints),
    ...imports.flatMap(directionComplaints(sources)),
    ...imports.flatMap(engineComplaints),
    ...imports.flatMap(packageComplaints),
    ...[...sources].flatMap(([file, text]) => dialComplaints(file, text)),
    ...[...sources].flatMap(([file, text]) => environmentComplaints(file, text)),
    ...cycles(imports).map(cycle => `import cycle: ${cycle.join(' → ')}`),
  ]
}

/** The imports of a file. A relative target becomes a path inside server/src, or starts with `../` if it leaves it. */
const readImports = (file: string, text: string): Import[] =>
  [...text.matchAll(importPattern)].map(([, from, bare, dynamic]) => {
    const target = from ?? bare ?? dynamic ?? ''
    return {
      file,
      target: isRelative(target) ? posix.join(posix.dirname(file), target) : `package ${target}`,
    }
  })

/** What the package says about itself: data, so any layer may read it. */
const about = '../package.json'

const isRelative = (target: string): boolean => target.startsWith('.')
const isPackage = (target: string): boolean => target.startsWith('package ')

/** The top-level folder in server/src, or the file itself if it is at the top. */
const placeOf = (path: string): string => path.split('/')[0] ?? ''
const isEdge = (path: string): boolean => edges.includes(placeOf(path))
const heightOf = (path: string): number =>
  isEdge(path) ? layers.length : layers.findIndex(layer => layer.includes(placeOf(path)))

const nameComplaints = (file: string): string[] => {
  const empty = file.split('/').find(part => emptyNames.has(part.replace(/\..*$/, '').toLowerCase()))
  return [
    ...(empty === undefined ? [] : [`${file}: "${empty}" does not say what is inside`]),
    ...(heightOf(file) === -1 ? [`${file} stands in no layer`] : []),
  ]
}

const directionComplaints =
  (sources: Sources) =>
  ({ file, target }: Import): string[] => {
    if (isPackage(target) || target === about) return []
    if (!sources.has(target)) return [`${file} imports ${target}, which is not in server/src`]
    if (placeOf(file) === placeOf(target) || (isEdge(file) && isEdge(target))) return []
    const climb = heightOf(target) - heightOf(file)
    if (climb < 0 || mayUseNeighbour(placeOf(file), placeOf(target))) return []
    return [`${file} imports ${target}, which points ${climb === 0 ? 'sideways' : 'up'}`]
  }

/** Files directly in store/ are the port; its folders are engines and the SQL that they share. */
const isOfEngine = (path: string): boolean => /^store\/.+\//.test(path)

const engineComplaints = ({ file, target }: Import): string[] =>
  isOfEngine(target) && !isOfEngine(file) && !isEdge(file)
    ? [`${file} imports ${target}: only the edges know an engine and its SQL`]
    : []

const packageComplaints = ({ file, target }: Import): string[] => {
  if (/^package node:https?$/.test(target) && !['http', 'outbound'].includes(placeOf(file)) && !isEdge(file))
    return [`${file} imports ${target}: only http, outbound and the edges know HTTP`]
  if (/^package (node:)?process$/.test(target) && placeOf(file) !== readerOfTheEnvironment)
    return [`${file} imports ${target}: only cli reads the environment`]
  return []
}

/**
 * Who else may call another server, and by which module. On a tenant's word only `outbound/` does (U17). A further file belongs here
 * only if nobody but the operator decides what it calls.
 */
const otherCallers: Readonly<Record<string, readonly string[]>> = {
  'store/postgres/connection.ts': ['pg'],
  // The server of its own settings.
  'cli/ask-server.ts': ['node:http', 'node:https'],
  // The collector of traces is named by the operator's environment.
  'cli/watching/otlp-exporter.ts': ['node:http', 'node:https'],
}

/** What a module is used for without calling anybody. */
const harmlessNames: Readonly<Record<string, RegExp>> = {
  'node:http': /^(createServer|Server|STATUS_CODES)$/,
  'node:net': /^(createServer|Server|isIP|isIPv4|isIPv6|BlockList|SocketAddress)$/,
  'node:tls': /^(createServer|Server|createSecureContext|getCACertificates|rootCertificates)$/,
}
const callingModules = /^(node:)?(http|https|http2|net|tls|dns|dns\/promises|dgram)$|^(pg|undici)$/

/** Everything that is imported by value, and where from. */
const dialComplaints = (file: string, text: string): string[] => {
  if (placeOf(file) === 'outbound') return []
  const found: string[] = []
  for (const [, clause = '', name = ''] of text.matchAll(valueImportPattern)) {
    if (!callingModules.test(name) || otherCallers[file]?.includes(name)) continue
    const names = /^\{([\s\S]*)\}$/.exec(clause.trim())?.[1]?.split(',') ?? ['*']
    const values = names.map(each => each.trim()).filter(each => each !== '' && !each.startsWith('type '))
    const harmless = harmlessNames[name]
    for (const value of values)
      if (harmless === undefined || !harmless.test(value.split(' ')[0] ?? ''))
        found.push(`${file} imports ${value} of ${name}: only outbound calls other servers`)
  }
  for (const [, name = ''] of text.matchAll(/\bimport\(\s*['"]([^'"]+)['"]\s*\)/g))
    if (callingModules.test(name) && !otherCallers[file]?.includes(name))
      found.push(`${file} imports ${name}: only outbound calls other servers`)
  // The documentation's own scripts run in a browser.
  if (
    !file.startsWith('http/docs/browser/') &&
    /(?<![.\w'"`])(?:fetch\(|new (?:WebSocket|EventSource)\()/.test(
      text.replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, ''),
    )
  )
    found.push(`${file} calls fetch: only outbound calls other servers`)
  return found
}
const valueImportPattern = /^\s*import\s+(?!type\b)([^'"`;=]*?)\s*\bfrom\s*['"]([^'"]+)['"]/gm

const environmentComplaints = (file: string, text: string): string[] =>
  environmentPattern.test(text) && placeOf(file) !== readerOfTheEnvironment
    ? [`${file} reads process.env: only cli reads the environment`]
    : []

/** One cycle for each import that closes one, as the files along it. */
const cycles = (imports: readonly Import[]): string[][] => {
  const targetsOf = Map.groupBy(imports, ({ file }) => file)
  const found: string[][] = []
  const done = new Set<string>()
  const visit = (file: string, path: readonly string[]): void => {
    const start = path.indexOf(file)
    if (start !== -1) found.push([...path.slice(start), file])
    if (start !== -1 || done.has(file)) return
    for (const { target } of targetsOf.get(file) ?? []) visit(target, [...path, file])
    done.add(file)
  }
  for (const file of targetsOf.keys()) visit(file, [])
  return found
}
