import { cardNumber } from './victims.ts'

/**
 * Texts that only a leak can put anywhere. `values` and `data` must appear nowhere. `names` are chosen by the caller
 * and may appear in a problem body, to say what is wrong where. `ids` are in storage in the clear by design.
 */
export class Canaries {
  readonly data = new Set<string>()
  readonly values = new Set<string>()
  readonly names = new Set<string>()
  readonly ids = new Set<string>()
  #count = 0

  #next(prefix: string, into: Set<string>): string {
    this.#count++
    const text = `${prefix}${this.#count.toString(26).padStart(3, 'q')}canary`
    into.add(text)
    return text
  }
  text(): string {
    return this.#next('value-é"', this.data)
  }
  value(): string {
    return this.#next('kept-', this.values)
  }
  name(): string {
    return this.#next('name-', this.names)
  }
  /** A number sent where a name belongs: not even a problem body may show it. */
  numberAsName(): string {
    return this.card()
  }
  id(): string {
    return this.#next('id-', this.ids)
  }
  container(): string {
    const segment = this.#next('box-', this.values)
    return `/${segment}/`
  }
  /** An expression that contains a text of the caller's own. */
  expression(): string {
    return `{{ data | size | append: '${this.#next('text-', this.values)}' }}`
  }
  card(): string {
    return this.#number(this.data)
  }
  /** A number sent where an id belongs. */
  numberAsId(): string {
    return this.#number(this.ids)
  }
  #number(into: Set<string>): string {
    this.#count++
    const number = cardNumber(`46718${String(this.#count * 7919).padStart(6, '3')}`, '5309')
    into.add(number)
    return number
  }
  account(): string {
    this.#count++
    const number = `90817${String(this.#count * 104_729).padStart(12, '6')}`
    this.data.add(number)
    return number
  }
  ssn(): string {
    this.#count++
    const digits = String(876_540_000 + this.#count * 7)
    this.data.add(digits)
    const dashed = `${digits.slice(0, 3)}-${digits.slice(3, 5)}-${digits.slice(5)}`
    this.data.add(dashed)
    return dashed
  }
  /** Four digits occur in any file by chance; with their quotes they do not. */
  cvc(): string {
    this.#count++
    const digits = String(9999 - this.#count)
    this.data.add(`"${digits}"`)
    return digits
  }

  /** What must appear nowhere outside the vault's memory. */
  get secrets(): string[] {
    return [...this.data, ...this.values]
  }
}
