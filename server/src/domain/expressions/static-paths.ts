import type { CompiledFilter } from './filter-call.ts'
import type { Operand, Output } from './syntax.ts'

type Path = readonly string[]

/**
 * Every path that an output names: its source, its arguments, and what `json`, `map` and `sort` select by literal names. A name
 * counts for every value that came before it in the chain, selected from or not: one path too many is better than a missed
 * transient field (C11).
 */
export const staticPaths = (output: Output, filters: readonly CompiledFilter[]): Path[] => {
  const origins: Path[] = []
  const selected: Path[] = []
  addPath(output.source, origins)
  for (const [index, { names }] of filters.entries()) {
    for (const argument of output.filters[index]?.arguments ?? []) addPath(argument, origins)
    if (names.length > 0) for (const origin of origins) selected.push([...origin, ...names.map(String)])
  }
  return [...origins, ...selected]
}

const addPath = (operand: Operand, paths: Path[]): void => {
  if (operand.kind === 'path') paths.push([operand.root, ...operand.segments.map(String)])
}
