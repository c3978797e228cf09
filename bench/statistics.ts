export type Round = {
  readonly perSecond: number
  readonly cpuMicroseconds: number
  readonly p50: number
  readonly p99: number
  readonly p999: number
}

export const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

/** Half the distance between the smallest and the largest value, in per cent of the median. */
export const spread = (values: readonly number[]): string =>
  `±${Math.round(((Math.max(...values) - Math.min(...values)) / 2 / median(values)) * 100)} %`
