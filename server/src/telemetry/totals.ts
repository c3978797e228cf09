import { cellsOf, type Laid, type Snapshot } from './meters.ts'
import type { Telemetry } from './telemetry.ts'

type Total = { readonly family: Laid; readonly series: Map<string, Float64Array> }

/**
 * What several processes counted, added up by the names of families and series, so that processes of two releases can be added too:
 * a worker that starts after the files were replaced may count more than its primary knows.
 */
export class Totals {
  readonly #totals = new Map<string, Total>()

  constructor(before?: Totals) {
    for (const [name, { family, series }] of before === undefined ? [] : before.#totals)
      this.#totals.set(name, {
        family,
        series: new Map([...series].map(([labels, cells]) => [labels, cells.slice()])),
      })
  }

  add({ layout, values }: Snapshot): void {
    let at = 0
    for (const family of layout) {
      const total = this.#totalOf(family)
      const size = cellsOf(family)
      for (const labels of family.series) {
        const cells = values.subarray(at, at + size)
        at += size
        const sums = total.series.get(labels)
        if (sums === undefined) total.series.set(labels, cells.slice())
        // Another release has other buckets. What it counts is left out, because it cannot be added.
        else if (sums.length === size) addTo(sums, cells, family.combine)
      }
    }
  }

  /** The same of a process that has ended: its counters stay, and what it was like does not. */
  keep({ layout, values }: Snapshot): void {
    const kept = values.slice()
    let at = 0
    for (const family of layout) {
      const size = cellsOf(family) * family.series.length
      if (!outlives(family)) kept.fill(Number.NaN, at, at + size)
      at += size
    }
    this.add({ layout, values: kept })
  }

  /** In the text format of Prometheus. */
  get text(): string {
    return [...this.#totals.values()].map(textOf).join('')
  }

  #totalOf(family: Laid): Total {
    let total = this.#totals.get(family.name)
    if (total === undefined) {
      total = { family, series: new Map() }
      this.#totals.set(family.name, total)
    }
    return total
  }
}

/** What this process counted. */
export const totalOf = (telemetry: Telemetry): Totals => {
  const totals = new Totals()
  for (const snapshot of telemetry.snapshots()) totals.add(snapshot)
  return totals
}

const outlives = ({ type, combine }: Laid): boolean => type !== 'gauge' || combine === 'latest'

const addTo = (sums: Float64Array, cells: Float64Array, combine: Laid['combine']): void => {
  cells.forEach((cell, at) => {
    const sum = sums[at] ?? Number.NaN
    if (Number.isNaN(cell)) return
    if (Number.isNaN(sum)) sums[at] = cell
    else if (combine === 'sum') sums[at] = sum + cell
    else sums[at] = combine === 'min' ? Math.min(sum, cell) : Math.max(sum, cell)
  })
}

const textOf = ({ family, series }: Total): string => {
  const { name, type, help } = family
  let text = `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`
  for (const [labels, cells] of series) {
    const [value = Number.NaN] = cells
    if (type === 'histogram') text += histogramText(family, labels, cells)
    else if (!Number.isNaN(value)) text += line(name, labels, value / family.scale)
  }
  return text
}

const histogramText = ({ name, bounds, scale }: Laid, labels: string, cells: Float64Array): string => {
  let text = ''
  let count = 0
  const rest = labels === '' ? '' : `${labels},`
  for (const [at, bound] of [...bounds, '+Inf'].entries()) {
    count += cells[at] ?? 0
    text += line(`${name}_bucket`, `${rest}le="${bound}"`, count)
  }
  return (
    text +
    line(`${name}_sum`, labels, (cells[bounds.length + 1] ?? 0) / scale) +
    line(`${name}_count`, labels, count)
  )
}

const line = (name: string, labels: string, value: number): string =>
  labels === '' ? `${name} ${value}\n` : `${name}{${labels}} ${value}\n`
