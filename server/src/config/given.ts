/** A setting that was given, and where. Error messages name the source. */
export type Given = { readonly text: string; readonly source: string }

export const ifGiven = <T>(given: Given | undefined, read: (given: Given) => T): T | undefined =>
  given === undefined ? undefined : read(given)
