/** Values in the JSON from which PostgreSQL reads rows. Each function throws if given a value of another type. */
export const text = (value: string): string => {
  if (typeof value !== 'string') throw new TypeError('a column of text was given something else')
  return value.toWellFormed()
}

export const integer = (value: number | null): number | null => {
  if (value !== null && !Number.isSafeInteger(value))
    throw new TypeError('a column of integers was given something else')
  return value
}

/** In PostgreSQL's hex notation. */
export const bytes = (value: Uint8Array): string =>
  `\\x${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')}`
