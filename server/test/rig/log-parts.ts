import type { LogBlockRow } from '../../src/store/rows.ts'
import type { LogPart, SealedLog } from '../../src/store/write-set.ts'

type LogLine = { readonly text: string; readonly at: number }

/** Records for tests of storage, which does not look into them: their seal is JSON. Counts how often it was asked to seal. */
export class TestLogPart implements LogPart {
  readonly #lines: readonly LogLine[]
  readonly bytes: number
  seals = 0

  constructor(lines: readonly LogLine[], bytes = lines.length * 100) {
    this.#lines = lines
    this.bytes = bytes
  }

  get records(): number {
    return this.#lines.length
  }

  sealWith(others: readonly LogPart[]): SealedLog {
    this.seals++
    const lines = [this, ...(others as readonly TestLogPart[])].flatMap(part => part.#lines)
    const times = lines.map(({ at }) => at)
    return {
      firstAt: Math.min(...times),
      lastAt: Math.max(...times),
      sealed: Buffer.from(JSON.stringify(lines.map(({ text }) => text))),
    }
  }
}

/** A part with these records, all made at the same time. */
export const logOf = (texts: readonly string[], at = 1_000): TestLogPart =>
  new TestLogPart(texts.map(text => ({ text, at })))

/** The records of a block that count. */
export const linesOf = ({ sealed, kept }: LogBlockRow): string[] => {
  const lines = JSON.parse(Buffer.from(sealed).toString()) as string[]
  return kept === null ? lines : lines.filter((_line, at) => ((kept[at >> 3] ?? 0) & (1 << (at & 7))) !== 0)
}

/** The first record of tenants that tests make in storage. */
export const tenantMade = 'the tenant was made'

export const madeTenantLog = (): TestLogPart => logOf([tenantMade])
