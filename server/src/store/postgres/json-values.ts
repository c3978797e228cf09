/** Values as they stand in JSON that PostgreSQL reads rows from; each throws where it was given something else. */
export const text = (value: string): string => {
  if (typeof value !== 'string') throw new TypeError('a column of text was given something else')
  return value.toWellFormed()
}

export const integer = (value: number | null): number | null => {
  if (value !== null && !Number.isSafeInteger(value))
    throw new TypeError('a column of integers was given something else')
  return value
}

/** As PostgreSQL writes bytes. */
export const bytes = (value: Uint8Array): string =>
  `\\x${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')}`
