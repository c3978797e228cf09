import { passesLuhn } from '../../src/domain/text/digits.ts'
import { fc } from '../rig/properties.ts'

/** What the attackers are after. Two sets of secrets agree in everything a mask shows: lengths and last four digits. */
export type Secrets = {
  readonly card: string
  readonly cardNumber: string
  readonly cvc: string
  readonly account: string
  readonly ssn: string
  readonly text: string
}

/** A card number from `start`, one digit chosen to make the whole valid, and `end`. */
export const cardNumber = (start: string, end: string): string => {
  for (const digit of '0123456789') if (passesLuhn(start + digit + end)) return start + digit + end
  throw new Error('every start has a digit that makes it a card number')
}

/** Few, so that what an attacker guesses is often true of one secret and not of the other. */
export const digit = fc.constantFrom(1, 9)
const digits = (length: number) =>
  fc.array(digit, { minLength: length, maxLength: length }).map(all => all.join(''))

export const arbitrarySecrets: fc.Arbitrary<Secrets> = fc.record({
  card: digits(11).map(start => cardNumber(start, '4242')),
  cardNumber: digits(10).map(start => cardNumber(start, '0005')),
  cvc: digits(3),
  account: digits(8).map(start => `${start}6789`),
  ssn: digits(5).map(start => `${start.slice(0, 3)}-${start.slice(3)}-6789`),
  text: digits(12).map(start => `${start}-end`),
})

/** Every digit that can differ does. */
export const oneSecret: Secrets = {
  card: cardNumber('42424242424', '4242'),
  cardNumber: cardNumber('3782822463', '0005'),
  cvc: '123',
  account: '000123456789',
  ssn: '123-45-6789',
  text: '012345678901-end',
}
export const otherSecret: Secrets = {
  card: cardNumber('51051051051', '4242'),
  cardNumber: cardNumber('6011981100', '0005'),
  cvc: '987',
  account: '998877666789',
  ssn: '987-65-6789',
  text: '998877665544-end',
}

export const victimIds = [
  'victim-card',
  'victim-pan',
  'victim-bank',
  'victim-ssn',
  'victim-text',
  'victim-hidden',
  'victim-person',
] as const
export type VictimId = (typeof victimIds)[number]

/** The owner's tokens: each type under its own mask, text under the owner's mask, and text under none. */
export const victims = (secrets: Secrets) => [
  {
    id: 'victim-card',
    type: 'card',
    data: { number: secrets.card, expiration_month: 12, expiration_year: 2030, cvc: secrets.cvc },
  },
  { id: 'victim-pan', type: 'card_number', data: secrets.cardNumber },
  {
    id: 'victim-bank',
    type: 'bank',
    data: { routing_number: '021000021', account_number: secrets.account },
  },
  { id: 'victim-ssn', type: 'social_security_number', data: secrets.ssn },
  { id: 'victim-text', type: 'token', data: secrets.text, mask: '{{ data | reveal_last: 4 }}' },
  { id: 'victim-hidden', type: 'token', data: secrets.text, fingerprint_expression: '{{ data }}' },
  {
    id: 'victim-person',
    type: 'token',
    data: { name: 'Ada', ssn: secrets.ssn, account: secrets.account },
    mask: { name: '{{ data.name }}', ssn: '{{ data.ssn | last4 }}' },
    metadata: { customer: 'c-1' },
    search_indexes: ['{{ data.ssn }}', '{{ data.account | last4 }}'],
  },
]

/** Where the secret is in a victim, as an expression names it, and a value of the attacker's own to put there. */
export const places: Record<VictimId, { path: string; type: string; own: (digit: number) => unknown }> = {
  'victim-card': {
    path: 'data.number',
    type: 'card',
    own: digit => ({ number: cardNumber(String(digit).repeat(11), '1111') }),
  },
  'victim-pan': {
    path: 'data',
    type: 'card_number',
    own: digit => cardNumber(String(digit).repeat(10), '1111'),
  },
  'victim-bank': {
    path: 'data.account_number',
    type: 'bank',
    own: digit => ({ routing_number: '021000021', account_number: String(digit).repeat(12) }),
  },
  'victim-ssn': {
    path: 'data',
    type: 'social_security_number',
    own: digit => `${String(digit).repeat(3)}-${String(digit).repeat(2)}-1111`,
  },
  'victim-text': { path: 'data', type: 'token', own: digit => `${String(digit).repeat(12)}-own` },
  'victim-hidden': { path: 'data', type: 'token', own: digit => `${String(digit).repeat(12)}-own` },
  'victim-person': {
    path: 'data.ssn',
    type: 'token',
    own: digit => ({
      name: 'Eve',
      ssn: `${String(digit).repeat(3)}-${String(digit).repeat(2)}-1111`,
      account: String(digit).repeat(12),
    }),
  },
}
