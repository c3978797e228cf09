import type { Step } from './branch-steps.ts'

/**
 * A query may look each token up in the index this often. Every branch does so by itself, for each of its conditions and for each
 * container of the caller, and a look-up takes up to a microsecond. To open the token takes 25, whatever is asked of it, and more
 * only where it is large: so the limit is a few times as high.
 */
const lookUpsMax = 128

/**
 * Whether storage should only propose tokens, and the opened token decide. The answer depends on the query and on the caller's
 * rules alone, never on how common a term is: the caller may see it in an explanation, and in the time that a search takes.
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

/** The most look-ups for a token, as it meets only branches that ask for the same value of this field, or for none. */
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

/** The most look-ups that a branch may take for each token that it starts from. It starts from one of its groups, or from an id. */
const lookUpsOfBranch = (steps: readonly Step[]): number => {
  if (steps.some(({ asks }) => asks.ids !== undefined)) return 0
  const starts = steps.filter(({ asks }) => asks.groups !== undefined).map(lookUpsOf)
  return steps.reduce((sum, step) => sum + lookUpsOf(step), 0) - Math.min(...starts)
}

const lookUpsOf = ({ asks: { groups = [], without = [], columns = [] } }: Step): number =>
  groups.flat().length + without.length + columns.length

/** The same branch, whose first step proposes tokens. All others that would look them up are left to the opened token. */
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
