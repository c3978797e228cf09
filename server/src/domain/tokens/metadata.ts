import type { Issue } from '../errors.ts'
import { getOwn, type JsonObject, keysAsSent } from '../json/json.ts'
import { limits } from '../limits.ts'
import { chosenKey } from '../place.ts'
import { countCharacters } from '../text/characters.ts'

/** The limits of C8 on a token's metadata; an issue names the key that it is about. */
export const checkMetadata = (metadata: JsonObject, place: string, issues: Issue[]): void => {
  const keys = keysAsSent(metadata)
  if (keys.filter(key => getOwn(metadata, key) !== null).length > limits.metadataKeys) {
    issues.push({ path: place, message: `must have at most ${limits.metadataKeys} keys` })
    return
  }
  for (const [index, key] of keys.entries()) {
    const value = getOwn(metadata, key)
    // In a patch, null removes the key.
    if (value === null) continue
    const path = chosenKey(place, key, index + 1)
    if (key === '' || countCharacters(key) > limits.metadataKeyCharactersMax)
      issues.push({ path, message: `must have a key of 1 to ${limits.metadataKeyCharactersMax} characters` })
    if (typeof value !== 'string') issues.push({ path, message: 'must be a string' })
    else if (countCharacters(value) > limits.metadataValueCharactersMax)
      issues.push({ path, message: `must have at most ${limits.metadataValueCharactersMax} characters` })
  }
}
