import { text } from 'node:stream/consumers'
import { getHeapSnapshot, setFlagsFromString } from 'node:v8'

/** V8's format: nodes and edges as rows of numbers, names as positions in `strings`. */
type Snapshot = {
  readonly snapshot: {
    readonly meta: {
      readonly node_fields: readonly string[]
      readonly node_types: readonly (readonly string[])[]
      readonly edge_fields: readonly string[]
      readonly edge_types: readonly (readonly string[])[]
    }
  }
  readonly nodes: readonly number[]
  readonly edges: readonly number[]
  readonly strings: readonly string[]
}

export type HeapErrors = {
  /** How many errors are alive in this process. */
  readonly count: number
  /** Every text reachable from one of them, also through the frames of its stack. */
  readonly texts: readonly string[]
}

/** Parts of the program, as opposed to its data, lead from any object to every other. */
const isProgram = (type: string, name: string): boolean =>
  ['closure', 'code', 'object shape', 'native'].includes(type) || name.startsWith('system /')
const edgesOfProgram = new Set(['map', '__proto__', 'constructor'])

/** Looks at every error in this process the way an attacker with a memory dump would. */
export const errorsOfHeap = async (): Promise<HeapErrors> => {
  // By default texts are cut at a thousand characters.
  setFlagsFromString('--heap-snapshot-string-limit=2000000')
  const { snapshot, nodes, edges, strings }: Snapshot = JSON.parse(await text(getHeapSnapshot()))
  const { node_fields: nodeFields, edge_fields: edgeFields } = snapshot.meta
  const [nodeTypes = []] = snapshot.meta.node_types
  const [edgeTypes = []] = snapshot.meta.edge_types
  const [nodeSize, edgeSize] = [nodeFields.length, edgeFields.length]
  const edgeCountAt = nodeFields.indexOf('edge_count')
  const typeOf = (node: number): string => nodeTypes[nodes[node] ?? 0] ?? ''
  const nameOf = (node: number): string => strings[nodes[node + 1] ?? 0] ?? ''

  const firstEdge = new Map<number, number>()
  const errors: number[] = []
  let edgesBefore = 0
  for (let node = 0; node < nodes.length; node += nodeSize) {
    firstEdge.set(node, edgesBefore)
    edgesBefore += (nodes[node + edgeCountAt] ?? 0) * edgeSize
    if (typeOf(node) === 'object' && nameOf(node).endsWith('Error')) errors.push(node)
  }

  const seen = new Set(errors)
  const texts: string[] = []
  for (const node of seen) {
    if (typeOf(node).endsWith('string')) texts.push(nameOf(node))
    const start = firstEdge.get(node) ?? 0
    const end = start + (nodes[node + edgeCountAt] ?? 0) * edgeSize
    for (let edge = start; edge < end; edge += edgeSize) {
      const [type = 0, name = 0, to = 0] = edges.slice(edge, edge + edgeSize)
      if (edgeTypes[type] === 'weak' || isProgram(typeOf(to), nameOf(to))) continue
      if (edgeTypes[type] !== 'element' && edgesOfProgram.has(strings[name] ?? '')) continue
      seen.add(to)
    }
  }
  return { count: errors.length, texts }
}
