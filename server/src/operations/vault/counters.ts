/** Names of the kept counters. They move with the writes, and lists and reports read them. */
export const typeCounter = (type: string): string => `type:${type}`
export const containerCounter = (term: Uint8Array): string => `container:${Buffer.from(term).toString('hex')}`
/** Counts tokens that lie in several containers. While there are none, the counts of two containers may be added. */
export const severalContainersCounter = 'several-containers'

export const activeCounter = (month: number): string => `active:${month}`
export const isActiveCounter = (name: string): boolean => name.startsWith('active:')

export const sealsCounter = (keyVersion: number): string => `seals:${keyVersion}`
export const isSealsCounter = (name: string): boolean => name.startsWith('seals:')
