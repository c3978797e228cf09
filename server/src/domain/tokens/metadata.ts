import type { Issue } from '../errors.ts'
import { getOwn, type JsonObject, keysAsSent } from '../json/json.ts'
import { limits } from '../limits.ts'
import { chosenKey } from '../place.ts'
import { countCharacters } from '../text/characters.ts'

/** The limits of C8 on a token's metadata; an issue names the key that it is about. */
export const checkMetadata = (metadata: JsonObject, place: string, issues: Issue[]): void => {
  if (!checkMetadataSize(metadata, place, issues)) return
  for (const [index, key] of keysAsSent(metadata).entries()) {
    const value = getOwn(metadata, key)
    if (value === null) continue
    const path = chosenKey(place, key, index + 1)
    if (key === '' || countCharacters(key) > limits.metadataKeyCharactersMax)
      issues.push({ path, message: `must have a key of 1 to ${limits.metadataKeyCharactersMax} characters` })
    if (typeof value !== 'string') issues.push({ path, message: 'must be a string' })
    else if (countCharacters(value) > limits.metadataValueCharactersMax)
      issues.push({ path, message: `must have at most ${limits.metadataValueCharactersMax} characters` })
  }
}

/** Whether there are few enough keys. In a patch, null removes one. */
export const checkMetadataSize = (metadata: JsonObject, place: string, issues: Issue[]): boolean => {
  const isSmall = Object.values(metadata).filter(value => value !== null).length <= limits.metadataKeys
  if (!isSmall) issues.push({ path: place, message: `must have at most ${limits.metadataKeys} keys` })
  return isSmall
}
