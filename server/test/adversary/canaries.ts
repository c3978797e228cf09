import { cardNumber } from './victims.ts'

/**
 * Texts that nothing but a leak can put anywhere. `values` and `data` may be nowhere; `names` are chosen by the
 * caller and may be in a problem body, to say where it is wrong; `ids` are plain in storage by design.
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
  /** A number that was sent where a name belongs: not even a problem body may show it. */
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
  /** An expression with something of the caller's own in it. */
  expression(): string {
    return `{{ data | size | append: '${this.#next('text-', this.values)}' }}`
  }
  card(): string {
    return this.#number(this.data)
  }
  /** A number that was sent where an id belongs. */
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
  /** Four digits are in any file by chance; with their quotes they are not. */
  cvc(): string {
    this.#count++
    const digits = String(9999 - this.#count)
    this.data.add(`"${digits}"`)
    return digits
  }

  /** What must be nowhere outside the vault's memory. */
  get secrets(): string[] {
    return [...this.data, ...this.values]
  }
}
