/** What a script reads, or what a person reads. */
export const print = (json: boolean | undefined, value: unknown, text: string): void => {
  process.stdout.write(json === true ? `${JSON.stringify(value, null, 2)}\n` : `${text}\n`)
}

/** Columns that line up. */
export const table = (rows: readonly (readonly string[])[]): string => {
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
