import { printable } from '../domain/text/terminal.ts'
import { pasteable } from './pasteable.ts'

/** Prints JSON for a script, or text for a person. */
export const print = (json: boolean | undefined, value: unknown, text: string): void => {
  printText(asked(json, value, text))
}

/**
 * Prints keys, which are shown once and kept nowhere. Resolves with the exit code. If they cannot be written, standard error says
 * what was made and how to get other keys.
 */
export const printKeys = (
  json: boolean | undefined,
  value: unknown,
  text: string,
  unshown: string,
): Promise<number> =>
  new Promise(resolve => {
    process.stdout.write(`${asked(json, value, text)}\n`, error => {
      if (error instanceof Error) process.stderr.write(`strongroom: ${pasteable(unshown)}\n`)
      resolve(error instanceof Error ? 1 : 0)
    })
  })

const asked = (json: boolean | undefined, value: unknown, text: string): string =>
  json === true ? JSON.stringify(value, null, 2) : text

/** Writes to standard error what remains to be done, with the command that does it. */
export const printNote = (command: string, text: string): void => {
  process.stderr.write(`strongroom ${command}: ${pasteable(text)}\n`)
}

export const printText = (text: string): void => {
  process.stdout.write(`${text}\n`)
}

/** Neither a reader that stops early (`| head`) nor a full disk behind `>` may cause a crash. */
export const surviveClosedOutput = (): void => {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    process.exitCode = 1
    if (error.code !== 'EPIPE')
      process.stderr.write(`strongroom: standard output cannot be written: ${error.code}\n`)
  })
  process.stderr.on('error', () => undefined)
}

/** Lines up columns. Cells are made printable, because names come from callers of the API. */
export const table = (cells: readonly (readonly string[])[]): string => {
  const rows = cells.map(row => row.map(printable))
  const widths: number[] = []
  for (const row of rows)
    row.forEach((cell, column) => {
      widths[column] = Math.max(widths[column] ?? 0, cell.length)
    })
  return rows
    .map(row =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
