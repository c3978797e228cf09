import type { Scenario } from '../suite/scenarios.ts'

export type Result = { readonly passed: number; readonly failed: readonly string[] }

/** One after another, as in `npm test`. */
export const runAll = async (scenarios: readonly Scenario[]): Promise<Result> => {
  const failed: string[] = []
  for (const { name, run } of scenarios)
    await run().catch((error: Error) => {
      failed.push(`${name}: ${error?.stack ?? error}`)
    })
  return { passed: scenarios.length - failed.length, failed }
}
