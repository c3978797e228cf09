/** Names of the kept counters. Counters move with the writes; lists and reports read them. */
export const typeCounter = (type: string): string => `type:${type}`
export const containerCounter = (term: Uint8Array): string => `container:${Buffer.from(term).toString('hex')}`
/** Counts tokens in several containers. While there are none, the counts of two containers may be added. */
export const severalContainersCounter = 'several-containers'

/**
 * Remembers the last name, because nearly every write counts in the same month and with the same key version as the one before.
 */
const named = (prefix: string): ((number: number) => string) => {
  let known = { number: Number.NaN, name: '' }
  return number => {
    if (number !== known.number) known = { number, name: `${prefix}${number}` }
    return known.name
  }
}

/** By the month. */
export const activeCounter = named('active:')
export const isActiveCounter = (name: string): boolean => name.startsWith('active:')

/** By the version of the key. */
export const sealsCounter = named('seals:')
export const isSealsCounter = (name: string): boolean => name.startsWith('seals:')
