import { bank } from './bank.ts'
import { card } from './card.ts'
import { cardNumber } from './card-number.ts'
import { employerIdNumber } from './employer-id-number.ts'
import { socialSecurityNumber } from './social-security-number.ts'
import { token } from './token.ts'
import type { TokenType } from './token-type.ts'
import { usBankAccountNumber } from './us-bank-account-number.ts'
import { usBankRoutingNumber } from './us-bank-routing-number.ts'

const all: readonly TokenType[] = [
  token,
  card,
  bank,
  cardNumber,
  usBankAccountNumber,
  usBankRoutingNumber,
  socialSecurityNumber,
  employerIdNumber,
]

/** All types (C9), in the order of the documentation. */
export const tokenTypes: ReadonlyMap<string, TokenType> = new Map(all.map(type => [type.name, type]))

/** The message for any other type. */
export const unknownTokenType = `must be one of ${[...tokenTypes.keys()].join(', ')}`

export const tokenType = (name: string): TokenType | undefined => tokenTypes.get(name)
