import { pace } from '../../domain/pace.ts'

/**
 * The newest data key made by a rekey, which must seal all tokens that no later key has sealed. A key that was made because the
 * previous one had sealed enough leaves older rows as they are. Undefined if there was no rekey.
 */
export const rekeyedVersion = (
  currentDataVersion: number,
  sealsOf: (version: number) => number,
): number | undefined => {
  for (let version = currentDataVersion; version > 1; version--)
    if (sealsOf(version - 1) < pace.dataKeySealsMax) return version
  return undefined
}
