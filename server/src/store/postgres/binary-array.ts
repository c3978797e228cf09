import type { Value } from '../columns.ts'
import type { ColumnKind } from '../tables.ts'

/** PostgreSQL's type numbers of array elements, and their names. */
const types = {
  integer: { oid: 20, name: 'bigint' },
  text: { oid: 25, name: 'text' },
  bytes: { oid: 17, name: 'bytea' },
} as const

const typeOf = (kind: ColumnKind) => types[kind.replace('?', '') as keyof typeof types]

export const arrayType = (kind: ColumnKind): string => `${typeOf(kind).name}[]`

const headerBytes = 20
const lengthBytes = 4
const integerBytes = 8

/**
 * A column of many rows as one parameter, in PostgreSQL's binary format. As text, bytes would be sent as hex, and each
 * value would be quoted here and parsed there.
 */
export const binaryArray = (kind: ColumnKind, values: readonly Value[]): Buffer => {
  const size = values.reduce((sum: number, value) => sum + lengthBytes + byteLength(value), headerBytes)
  const array = Buffer.allocUnsafe(size)
  const header = [1, values.includes(null) ? 1 : 0, typeOf(kind).oid, values.length, 1]
  header.forEach((field, place) => {
    array.writeInt32BE(field, place * lengthBytes)
  })
  let at = headerBytes
  for (const value of values) {
    at = array.writeInt32BE(value === null ? -1 : byteLength(value), at)
    if (value === null) continue
    if (typeof value === 'string') at += array.write(value, at)
    else if (value instanceof Uint8Array) {
      array.set(value, at)
      at += value.length
    } else at = array.writeBigInt64BE(BigInt(value), at)
  }
  return array
}

const byteLength = (value: Value): number => {
  if (value === null) return 0
  if (typeof value === 'string') return Buffer.byteLength(value)
  return value instanceof Uint8Array ? value.length : integerBytes
}
