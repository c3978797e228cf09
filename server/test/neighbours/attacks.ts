import type { Attack } from './attack.ts'
import { expensiveRequests } from './expensive-requests.ts'
import { looksAtActs } from './looks-at-acts.ts'
import { rudeConnections } from './rude-connections.ts'
import { usesOfTokens } from './uses-of-tokens.ts'

/** Without an attack: what the machine alone does to the neighbour. If this fails, the other rows say nothing. */
const nothing: Attack = {
  name: 'nothing',
  key: 'none',
  connections: 0,
  prepare: async () => async () => {},
}

export const attacks: readonly Attack[] = [
  nothing,
  ...expensiveRequests,
  ...usesOfTokens,
  ...looksAtActs,
  ...rudeConnections,
]
