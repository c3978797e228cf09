import { inspect } from 'node:util'

/**
 * Plaintext has one named door: `secret.expose('why')`. A search for `.expose(` lists every place where a
 * stored value exists in the clear; printing, logging or serialising a secret prints `[secret]`.
 */
export class Secret<T> {
  readonly #value: T

  constructor(value: T) {
    this.#value = value
  }

  /** The reason is for readers of the code; it is not kept. */
  expose(_reason: string): T {
    return this.#value
  }

  toString(): string {
    return '[secret]'
  }

  toJSON(): string {
    return '[secret]'
  }

  [inspect.custom](): string {
    return '[secret]'
  }
}
