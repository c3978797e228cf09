/** What filters and search compare (§4.3, C24, C26): values match whatever their letter case and composition. */
export const foldText = (value: string): string => value.normalize('NFC').toLowerCase()
