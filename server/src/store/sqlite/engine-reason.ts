/** What the engine says is the matter, in words of its own table: nothing of a statement or of its values. */
export const engineReason = (error: unknown): string =>
  error instanceof Error && 'errstr' in error && 'errcode' in error
    ? `${error.errstr} (SQLite ${error.errcode})`
    : 'the engine did not say why'
