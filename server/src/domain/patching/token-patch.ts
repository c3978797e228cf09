import type { Issue } from '../errors.ts'
import { isJsonObject, type Json, stringify } from '../json/json.ts'
import { mergePatch } from '../json/merge-patch.ts'
import { Secret } from '../secret.ts'
import { readExpiry } from '../time/date-time.ts'
import type { Instant } from '../time/instant.ts'
import { parseContainers } from '../tokens/containers.ts'
import { checkExpressionsAndMetadata, checkMaskBytes, checkMetadataSize } from '../tokens/field-checks.ts'
import type { RenderedPart } from '../tokens/renderings.ts'
import { type Metadata, maskInForce, type Token, type Writable } from '../tokens/token.ts'
import { splitTransients, wholeData } from '../tokens/transients.ts'
import { token as untyped } from '../tokens/types/token.ts'

/** The body of an update (§4.5) once its shape is known to be right. Null clears a field or restores its default (C18). */
export type TokenPatch = {
  readonly data?: Json
  readonly mask?: Json
  readonly metadata?: Readonly<Record<string, string | null>> | null
  readonly containers?: readonly string[] | null
  readonly search_indexes?: readonly string[] | null
  readonly fingerprint_expression?: string | null
  readonly deduplicate_token?: boolean | null
  readonly expires_at?: string | null
}

/** Checks what can be checked before the token is read, and says which containers the patch moves the token to. */
export const readPatch = (
  patch: TokenPatch,
  now: Instant,
  issues: Issue[],
): { destinations: readonly string[] } => {
  if (patch.data === null) issues.push({ path: 'data', message: 'must not be null' })
  // As if of any type: that of the token may have further demands, which its merged whole must meet.
  checkExpressionsAndMetadata(patch, untyped, '', issues)
  if (typeof patch.expires_at === 'string') readExpiry(patch.expires_at, 'expires_at', now, issues)
  return { destinations: patch.containers ? parseContainers(patch.containers, 'containers', issues) : [] }
}

/** Whether nothing of the old data stays: a merge patch that is not an object is itself the new value (RFC 7386). */
export const replacesData = ({ data }: TokenPatch): boolean => data !== undefined && !isJsonObject(data)

/** The parts that a patch gives something new to render. A blind part is skipped until someone sets it again (C13). */
export const touchedParts = (patch: TokenPatch, { blind }: Token): RenderedPart[] => {
  const touched: RenderedPart[] = []
  const dataMoved = patch.data !== undefined
  if (patch.mask !== undefined || (dataMoved && blind.mask !== true)) touched.push('mask')
  if (patch.search_indexes !== undefined || dataMoved) touched.push('search_indexes')
  if (
    patch.fingerprint_expression !== undefined ||
    ((dataMoved || patch.metadata !== undefined) && blind.fingerprint !== true)
  )
    touched.push('fingerprint_expression')
  return touched
}

/** The token after the patch; faults of the merged whole become issues. Does not check who may do it. */
export const patchToken = (token: Token, patch: TokenPatch, now: Instant, issues: Issue[]): Token => {
  const mask = patchedMask(token, patch)
  const metadata = patchedMetadata(token, patch)
  // What stays of these was checked when it was written, perhaps under wider limits, and the places in issues are those of the
  // patch (C2). So of the whole only the size is checked; what the patch brings of metadata, `readPatch` has checked.
  if (patch.mask !== undefined && mask.from === 'caller') checkMaskBytes(mask.template, 'mask', issues)
  if (patch.metadata && metadata) checkMetadataSize(metadata, 'metadata', issues)
  checkExpressionsAndMetadata(
    {
      ...(patch.mask !== undefined && { mask: patch.mask }),
      ...(patch.search_indexes && { search_indexes: patch.search_indexes }),
      ...(patch.fingerprint_expression && { fingerprint_expression: patch.fingerprint_expression }),
    },
    token.type,
    '',
    issues,
  )
  const patched: Writable<Token> = {
    ...token,
    ...patchedData(token, patch, now, issues),
    mask,
    containers: patchedContainers(token, patch, issues),
  }
  setOrRemove(patched, 'metadata', metadata)
  setOrRemove(
    patched,
    'searchIndexes',
    patch.search_indexes === null ? [] : (patch.search_indexes ?? token.searchIndexes),
  )
  setOrRemove(
    patched,
    'fingerprintExpression',
    replaced(patch.fingerprint_expression, token.fingerprintExpression),
  )
  setOrRemove(patched, 'deduplicate', replaced(patch.deduplicate_token, token.deduplicate))
  setOrRemove(
    patched,
    'expiry',
    typeof patch.expires_at === 'string'
      ? readExpiry(patch.expires_at, 'expires_at', now, issues)
      : replaced(patch.expires_at, token.expiry),
  )
  return patched
}

type OptionalPart = 'metadata' | 'searchIndexes' | 'fingerprintExpression' | 'deduplicate' | 'expiry'

/** `exactOptionalPropertyTypes`: a part that a patch removed is an absent property, not an undefined one. */
const setOrRemove = <K extends OptionalPart>(
  token: Writable<Token>,
  part: K,
  value: Token[K] | undefined,
): void => {
  if (value === undefined) delete token[part]
  else token[part] = value
}

/** Replace semantics: absent keeps the value, null restores the default. */
const replaced = <T>(change: T | null | undefined, current: T | undefined): T | undefined =>
  change === undefined ? current : (change ?? undefined)

const patchedMask = (token: Token, patch: TokenPatch): Token['mask'] => {
  if (patch.mask === undefined) return token.mask
  const before = maskInForce(token)
  const template = patch.mask === null ? undefined : mergePatch(before, patch.mask)
  // Setting a mask to its current value is no change: the type's mask stays the type's.
  if (sameJson(before, template)) return token.mask
  return template === undefined ? { from: 'nobody' } : { from: 'caller', template }
}

const sameJson = (one: Json | undefined, other: Json | undefined): boolean =>
  one === undefined || other === undefined ? one === other : stringify(one) === stringify(other)

const patchedMetadata = (token: Token, patch: TokenPatch): Metadata | undefined => {
  if (patch.metadata === undefined) return token.metadata
  if (patch.metadata === null) return undefined
  // The shape of the patch allows strings and null only, and merging removes the nulls.
  return mergePatch(token.metadata, patch.metadata) as Metadata
}

const patchedContainers = (token: Token, patch: TokenPatch, issues: Issue[]): readonly string[] => {
  if (patch.containers === undefined) return token.containers
  if (patch.containers === null) return [token.type.container]
  return parseContainers(patch.containers, 'containers', issues)
}

const patchedData = (
  token: Token,
  patch: TokenPatch,
  now: Instant,
  issues: Issue[],
): Pick<Token, 'data' | 'transients'> => {
  if (patch.data === undefined) return token
  const before = wholeData(token, now)
  const merged = mergePatch(before, patch.data)
  const parsed = token.type.parse(merged, 'data', issues, patch.data)
  if (parsed === undefined) return token
  const isSent = (name: string): boolean => isJsonObject(patch.data) && Object.hasOwn(patch.data, name)
  const kept = token.transients.filter(transient => !isSent(transient.field))
  const { data, transients } = splitTransients(parsed, token.type, now, kept)
  return { data: new Secret(data), transients }
}
