import type { CompiledFilter } from './filter-call.ts'
import type { Output } from './syntax.ts'

type Path = readonly string[]

/**
 * Every path that an output names: its source, its arguments, and what `json`, `map` and `sort` select by literal
 * names. Where a chain mixes values, a name counts for each of them: one path too many is better than a missed
 * transient field (C11).
 */
export const staticPaths = (output: Output, filters: readonly CompiledFilter[]): Path[] => {
  const named: Path[] = []
  let origins: Path[] = pathsOf([output.source])
  named.push(...origins)
  filters.forEach(({ names, isSelection }, index) => {
    const fromArguments = pathsOf(output.filters[index]?.arguments ?? [])
    named.push(...fromArguments)
    origins = [...origins, ...fromArguments]
    if (names.length === 0) return
    const selected = origins.map(origin => [...origin, ...names.map(String)])
    named.push(...selected)
    if (isSelection) origins = selected
  })
  return named
}

const pathsOf = (operands: Output['filters'][number]['arguments']): Path[] =>
  operands
    .filter(operand => operand.kind === 'path')
    .map(({ root, segments }) => [root, ...segments.map(String)])
