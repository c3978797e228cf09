/** The code of an error from the runtime, a driver or the framework, such as `ENOENT` or `40001`; '' if it has none. */
export const foreignCode = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string'
    ? error.code
    : ''
