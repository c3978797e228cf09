/** By PostgreSQL's type numbers, for the columns that are read. */
const parsers: Readonly<Record<number, (text: string) => unknown>> = {
  16: text => text === 't',
  17: text => Buffer.from(text.slice(2), 'hex'),
  20: Number,
  21: Number,
  23: Number,
}

/** An integer too large for a double becomes a number that columns.ts refuses. Other types stay text. */
export const typeParser = (type: number): ((text: string) => unknown) => parsers[type] ?? (text => text)
