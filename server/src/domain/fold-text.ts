/** What filters and search compare (§4.3, C24, C26): values match whatever their letter case and composition. */
export const foldText = (value: string): string =>
  // A letter may have one composed form in lower case and none in upper case.
  value.normalize('NFC').toLowerCase().normalize('NFC')
