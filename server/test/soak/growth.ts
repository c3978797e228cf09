/** What is measured, and how much it may have grown by the end. */
export type Measure = {
  readonly name: string
  readonly unit: string
  readonly growth: (values: readonly number[]) => number
  readonly growthMax: number
}
export type Sample = Readonly<Record<string, number>>

const windows = 8

/**
 * Fits a line through the lowest values of each part of the time: what garbage collection, a checkpoint or a sweep
 * takes back does not count, what nothing takes back does. Returns how much the line rises from start to end.
 */
export const growthOfFloor = (values: readonly number[]): number => {
  const length = Math.max(1, Math.floor(values.length / windows))
  const floors: number[] = []
  for (let at = 0; at + length <= values.length; at += length)
    floors.push(Math.min(...values.slice(at, at + length)))
  const count = floors.length
  const middle = (count - 1) / 2
  const mean = floors.reduce((sum, floor) => sum + floor, 0) / count
  const slope =
    floors.reduce((sum, floor, at) => sum + (at - middle) * (floor - mean), 0) /
    Math.max(
      1,
      floors.reduce((sum, _floor, at) => sum + (at - middle) ** 2, 0),
    )
  return slope * (count - 1)
}

/** For values that are cut back to nothing now and then: how much higher they get in the second half than in the first. */
export const growthOfPeak = (values: readonly number[]): number => {
  const half = Math.floor(values.length / 2)
  return Math.max(...values.slice(half)) - Math.max(...values.slice(0, half))
}
