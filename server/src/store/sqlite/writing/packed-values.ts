export type PackedValue = string | number | null | Uint8Array

const nothing = 0
const number = 1
const text = 2
const firstText = 3
const sameText = 4
const bytes = 5
const impossible = 6
const list = 7
const record = 8
const sameAgain = 9

const numberBytes = 8
const lengthBytes = 4
/** UTF-8 takes at most three bytes per code unit. */
const bytesPerUnit = 3
const roomAtFirst = 1 << 16
const roomKeptMax = 1 << 20

/**
 * Writes values one after the other as bytes, for another thread or process. A value of any other type arrives as
 * undefined, which storage refuses, so only the set that holds it fails.
 */
export class ValueWriter {
  #room = Buffer.allocUnsafeSlow(roomAtFirst)
  /** The same memory. Numbers are written through it, because a Buffer writes them byte by byte. */
  #view = viewOf(this.#room)
  #end = 0
  #texts = new Map<string, number>()
  #lastText: string | undefined

  add(value: PackedValue): void {
    if (value === null) this.#start(nothing, 0)
    else if (typeof value === 'number') {
      this.#start(number, numberBytes)
      this.#view.setFloat64(this.#end, value, true)
      this.#end += numberBytes
    } else if (typeof value === 'string') {
      // An id is in the row, and right after that in the index entries.
      if (value === this.#lastText) this.#start(sameAgain, 0)
      else this.#addText(text, value)
      this.#lastText = value
    } else if (!(value instanceof Uint8Array)) this.#start(impossible, 0)
    else {
      this.#start(bytes, lengthBytes + value.length)
      this.#addLength(value.length)
      this.#room.set(value, this.#end)
      this.#end += value.length
    }
  }

  /** Writes a text once, however often it recurs. For a text that seldom recurs, `add` is faster than looking it up. */
  addRecurring(value: PackedValue): void {
    if (typeof value !== 'string') {
      this.add(value)
      return
    }
    const known = this.#texts.get(value)
    if (known === undefined) {
      this.#texts.set(value, this.#texts.size)
      this.#addText(firstText, value)
    } else this.#startOf(sameText, known)
  }

  /** Packs lists and records of such values, to any depth. */
  addPlain(value: unknown): void {
    if (typeof value !== 'object' || value === null || value instanceof Uint8Array) {
      this.add(value as PackedValue)
    } else if (Array.isArray(value)) {
      this.#startOf(list, value.length)
      for (const part of value) this.addPlain(part)
    } else {
      const parts = Object.entries(value)
      this.#startOf(record, parts.length)
      for (const [name, part] of parts) {
        this.addRecurring(name)
        this.addPlain(part)
      }
    }
  }

  /** A copy of everything added: part of a buffer cannot be sent without the rest, and this one is reused. */
  copy(): Uint8Array {
    return new Uint8Array(this.#room.subarray(0, this.#end))
  }

  clear(): void {
    if (this.#room.length > roomKeptMax) this.#use(Buffer.allocUnsafeSlow(roomAtFirst))
    this.#end = 0
    // A new map, not `clear`: V8 would keep the table of an old map in the old generation.
    this.#texts = new Map()
    this.#lastText = undefined
  }

  #addText(kind: number, value: string): void {
    this.#start(kind, lengthBytes + value.length * bytesPerUnit)
    const written = this.#room.write(value, this.#end + lengthBytes)
    this.#addLength(written)
    this.#end += written
  }

  /** Writes a kind followed by a length, or by the index of an earlier text. */
  #startOf(kind: number, length: number): void {
    this.#start(kind, lengthBytes)
    this.#addLength(length)
  }

  #addLength(length: number): void {
    this.#view.setUint32(this.#end, length, true)
    this.#end += lengthBytes
  }

  #start(kind: number, room: number): void {
    const needed = this.#end + 1 + room
    if (needed > this.#room.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#room.length * 2))
      this.#room.copy(larger, 0, 0, this.#end)
      this.#use(larger)
    }
    this.#room[this.#end++] = kind
  }

  #use(room: Buffer<ArrayBuffer>): void {
    this.#room = room
    this.#view = viewOf(room)
  }
}

const viewOf = ({ buffer, byteOffset, byteLength }: Uint8Array): DataView =>
  new DataView(buffer, byteOffset, byteLength)

/** Reads values in the order in which they were added. The caller knows the type of each. */
export class ValueReader {
  readonly #bytes: Buffer
  readonly #view: DataView
  readonly #texts: string[] = []
  #lastText = ''
  #at = 0

  constructor(packed: Uint8Array) {
    this.#bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength)
    this.#view = viewOf(packed)
  }

  next<T>(): T {
    return this.#next() as T
  }

  #next(): unknown {
    const kind = this.#bytes[this.#at++]
    if (kind === impossible) return undefined
    if (kind === nothing) return null
    if (kind === number) {
      const value = this.#view.getFloat64(this.#at, true)
      this.#at += numberBytes
      return value
    }
    if (kind === sameAgain) return this.#lastText
    const length = this.#view.getUint32(this.#at, true)
    const start = this.#at + lengthBytes
    this.#at = start
    if (kind === sameText) return this.#seen(length)
    if (kind === list) return Array.from({ length }, () => this.#next())
    if (kind === record)
      return Object.fromEntries(Array.from({ length }, () => [this.next<string>(), this.#next()]))
    this.#at += length
    if (kind === bytes) return this.#bytes.subarray(start, this.#at)
    const value = this.#bytes.toString('utf8', start, this.#at)
    if (kind === firstText) this.#texts.push(value)
    else this.#lastText = value
    return value
  }

  #seen(number: number): string {
    const text = this.#texts[number]
    if (text === undefined) throw new Error('a packed text stands for one that was not packed')
    return text
  }
}
