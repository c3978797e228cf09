import { invalid } from '../errors.ts'
import { getOwn, isJsonObject, type Json, type JsonObject, setOwn } from '../json/json.ts'

/**
 * A secret as `vault kv get -format=json` prints it, of either version of the engine. The output does not say where the secret was,
 * so whoever exports may add `path`. It becomes one token, whose metadata has the path, the version and the custom metadata.
 */
export const vaultKvBody = (secret: Json): Json => {
  const answer = isJsonObject(secret) ? getOwn(secret, 'data') : undefined
  if (!isJsonObject(secret) || !isJsonObject(answer))
    throw invalid({ path: 'data', message: 'must be an object, as vault kv get -format=json prints it' })
  const { data, about } = versionOf(answer)
  if (!isJsonObject(data))
    throw invalid({ path: 'data.data', message: 'is missing: this version of the secret was deleted' })
  const metadata: JsonObject = {}
  const custom = getOwn(about, 'custom_metadata')
  for (const [name, value] of Object.entries(isJsonObject(custom) ? custom : {}))
    setOwn(metadata, name, value)
  const path = getOwn(secret, 'path')
  if (path !== undefined) setOwn(metadata, 'vault_path', path)
  const version = getOwn(about, 'version')
  if (version !== undefined) setOwn(metadata, 'vault_version', String(version))
  return { type: 'token', data, ...(Object.keys(metadata).length > 0 && { metadata }) }
}

/** The second version of the engine wraps the secret once more, with what it knows about it. */
const versionOf = (answer: JsonObject): { data: Json; about: JsonObject } => {
  const about = getOwn(answer, 'metadata')
  return isJsonObject(about) && Object.hasOwn(about, 'version')
    ? { data: getOwn(answer, 'data') ?? null, about }
    : { data: answer, about: {} }
}
