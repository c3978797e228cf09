import type { Step } from './branch-steps.ts'

/**
 * The number of look-ups per token that a query may make in the index. Every branch makes its own, for each of its conditions and
 * each container of the caller. A look-up takes up to a microsecond. Opening a token takes 25, whatever is asked of it, and more
 * only if it is large. So the limit is a few times as high.
 */
const lookUpsMax = 128

/**
 * Whether storage should only propose tokens and the opened token decide. This depends only on the query and on the caller's
 * rules, never on how common a term is, because the caller can see it in an explanation and in the time of a search.
 */
export const isOpeningCheaper = (branches: readonly (readonly Step[])[]): boolean => {
  const fields = new Set(branches.flatMap(steps => steps.filter(asksForOneValue).map(({ field }) => field)))
  const each = branches.reduce((sum, steps) => sum + lookUpsOfBranch(steps), 0)
  return Math.min(each, ...[...fields].map(field => lookUpsApart(branches, field))) > lookUpsMax
}

/** A token has one type and one fingerprint, and one value for each metadata key. */
const asksForOneValue = ({ field, asks }: Step): boolean =>
  asks.groups !== undefined &&
  (field === 'type' || field === 'fingerprint' || (field.startsWith('metadata.') && !field.includes(' or ')))

/** The maximum of look-ups for one token. It meets only branches that ask for the same value of this field, or for none. */
const lookUpsApart = (branches: readonly (readonly Step[])[], field: string): number => {
  const byValue = new Map<string, number>()
  let others = 0
  for (const steps of branches) {
    const asked = steps.find(step => step.field === field && asksForOneValue(step))
    const lookUps = lookUpsOfBranch(steps)
    if (asked === undefined) others += lookUps
    else {
      const value = JSON.stringify(asked.asks)
      byValue.set(value, (byValue.get(value) ?? 0) + lookUps)
    }
  }
  return others + Math.max(0, ...byValue.values())
}

/** The maximum of look-ups of a branch for each token that it starts from. It starts from one of its groups, or from an id. */
const lookUpsOfBranch = (steps: readonly Step[]): number => {
  if (steps.some(({ asks }) => asks.ids !== undefined)) return 0
  const starts = steps.filter(({ asks }) => asks.groups !== undefined).map(lookUpsOf)
  return steps.reduce((sum, step) => sum + lookUpsOf(step), 0) - Math.min(...starts)
}

const lookUpsOf = ({ asks: { groups = [], without = [], columns = [] } }: Step): number =>
  groups.flat().length + without.length + columns.length

/**
 * The same branch, but only its first step proposes tokens. The opened token decides about all conditions that would need a
 * look-up.
 */
export const openingInstead = ([first, ...others]: readonly Step[]): Step[] => {
  if (first === undefined) return []
  const left = others.filter(step => lookUpsOf(step) === 0)
  const opened = others.filter(step => lookUpsOf(step) > 0)
  return [
    first,
    ...left,
    ...opened.map(
      ({ field, negated }): Step => ({ field, asks: {}, isOpened: true, ...(negated && { negated }) }),
    ),
  ]
}
