import { eventTypes } from '../../domain/events/event-types.ts'
import type { Json } from '../../domain/json/json.ts'

/** E3: what a webhook may name, besides families such as `token.*`. */
export const listEventTypes = (): Json => [...eventTypes]
