import assert from 'node:assert/strict'
import type { LogRecord } from '../../src/domain/acts/block.ts'
import { granted } from './answers.ts'
import type { TestVault } from './test-vault.ts'

type Sender = Pick<TestVault, 'send'>

/** An entry of a list of the log, without the names that the record itself does not have. */
export const recordOf = (entry: Record<string, unknown>): LogRecord => {
  const { actor_id: _id, actor_type: _type, message: _message, created_at: _at, ...record } = entry
  return record as LogRecord
}

/** Every page of a list of the log, until the last. */
export const logPages = async (
  vault: Sender,
  key: string,
  query = '',
  between: (page: number) => Promise<void> = async () => {},
): Promise<LogRecord[][]> => {
  const pages: LogRecord[][] = []
  for (let start: string | undefined = ''; start !== undefined; ) {
    const { pagination, data } = granted(await vault.send('GET', `/logs?${query}&start=${start}`, { key }))
    pages.push(data.map(recordOf))
    start = pagination.next
    assert.ok(pages.length < 200, 'the pages do not end')
    await between(pages.length)
  }
  return pages
}

/** The records of an export, and the cursor that its last line holds. */
export const readExport = (text: string): { records: LogRecord[]; lines: string[]; next: string } => {
  assert.ok(text.endsWith('\n'), 'the last line is whole')
  const parsed = text.trimEnd().split('\n')
  const lines = parsed.filter(line => !/^\{"(next|head|checkpoint)":/.test(line))
  const { next } = JSON.parse(parsed.at(-1) ?? '')
  assert.equal(typeof next, 'string', 'the last line is a cursor')
  return { lines, records: lines.map(line => JSON.parse(line)), next }
}

export const exported = async (vault: Sender, key: string, query = '') => {
  const reply = await vault.send('GET', `/logs/export?${query}`, { key })
  assert.equal(reply.status, 200, reply.text)
  return readExport(reply.text)
}

export const inSequence = (records: readonly LogRecord[]): LogRecord[] => {
  const place = ({ sequence }: LogRecord): number => {
    const [writer = 0, number = 0] = sequence.split('.').map(Number)
    return writer * 1e9 + number
  }
  return records.toSorted((one, other) => place(one) - place(other))
}
