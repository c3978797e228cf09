import type pg from 'pg'

/** An id may be in any script (C8). A database with another encoding would refuse some ids at every attempt. */
export const requireUnicode = async (client: pg.Client): Promise<void> => {
  const { rows } = await client.query("SELECT current_setting('server_encoding') AS encoding")
  const encoding = String(rows[0]?.encoding)
  if (encoding !== 'UTF8') throw new EncodingError(`the database has the encoding ${encoding}`)
}

export class EncodingError extends Error {
  readonly problem: string
  readonly advice: string

  constructor(problem: string) {
    const advice = 'make one with UTF8 (createdb -T template0 -E UTF8)'
    super(`${problem}: ${advice}`)
    this.problem = problem
    this.advice = advice
  }
}
