import type { Issue } from '../../errors.ts'
import type { Json, JsonObject } from '../../json/json.ts'

/**
 * Validates and normalises. On a fault it pushes issues at places under `place` and returns undefined; no message holds
 * a value. `sent` is what the caller sent, if that is not the data itself: positions refer to it, so that they tell
 * nothing about the data it was merged with (C13).
 */
export type Parse = (data: Json, place: string, issues: Issue[], sent?: Json) => Json | undefined

/** The form that `data`, or a field of it, must have: for the vault, and as JSON Schema for the documentation. */
export type Form = {
  readonly parse: Parse
  /** Accepts all that `parse` accepts; checksums appear only in its description. */
  readonly schema: JsonObject
}
