import type { CompiledFilter } from './filter-call.ts'
import type { Output } from './syntax.ts'

type Path = readonly string[]

/**
 * Every path that an output names: its source, its arguments, and what `json`, `map` and `sort` select by literal names. A name
 * counts for every value that came before it in the chain, selected from or not: one path too many is better than a missed
 * transient field (C11).
 */
export const staticPaths = (output: Output, filters: readonly CompiledFilter[]): Path[] => {
  const origins: Path[] = pathsOf([output.source])
  const selected: Path[] = []
  filters.forEach(({ names }, index) => {
    origins.push(...pathsOf(output.filters[index]?.arguments ?? []))
    if (names.length > 0) selected.push(...origins.map(origin => [...origin, ...names.map(String)]))
  })
  return [...origins, ...selected]
}

const pathsOf = (operands: Output['filters'][number]['arguments']): Path[] =>
  operands
    .filter(operand => operand.kind === 'path')
    .map(({ root, segments }) => [root, ...segments.map(String)])
