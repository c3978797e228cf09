import { entityTypes } from '../../domain/acts/act.ts'
import type { Json } from '../../domain/json/json.ts'

/** L5: what a list of the log can be filtered by. */
export const listLogEntityTypes = (): Json =>
  entityTypes.map(value => ({ display_name: `${value.slice(0, 1).toUpperCase()}${value.slice(1)}`, value }))
