import type { EventPageQuery } from '../../contract/events/query.ts'
import { decisionFor } from '../../domain/access/access.ts'
import type { Application } from '../../domain/access/application.ts'
import { invalid, VaultError } from '../../domain/errors.ts'
import { containersOf, type VaultEvent } from '../../domain/events/event.ts'
import { typesMeant } from '../../domain/events/event-types.ts'
import type { JsonObject } from '../../domain/json/json.ts'
import type { Caller, Vault } from '../vault/vault.ts'
import {
  type EventPosition,
  isTooOld,
  oldestPosition,
  openEventCursor,
  sealEventCursor,
} from './event-position.ts'
import { readEvents } from './read-events.ts'

/**
 * E6: oldest first. The cursor says how far each writer of the log was read, so that it goes on with any filter. The last page is
 * empty, and has a cursor as well: whoever asks with it again gets what came since.
 */
export const listEvents = async (
  vault: Vault,
  caller: Caller,
  { types, start, size }: EventPageQuery,
): Promise<JsonObject> => {
  const cursorAt = (position: EventPosition): string => sealEventCursor(vault, caller, position)
  if (types.length > 0) caller.act.says({ query: { fields: ['type'], operators: [] } })
  const given = start === undefined ? undefined : openEventCursor(vault, caller, start)
  if (start !== undefined && given === undefined)
    throw invalid({ path: 'start', message: 'is not a cursor of this feed; start again without it' })
  const heads = await vault.store.listLogHeads(caller.tenantNumber)
  const oldest = oldestPosition(heads)
  if (given !== undefined && isTooOld(given, heads))
    throw new VaultError('cursorTooOld', { members: { oldest: cursorAt(oldest) } })
  const meant = typesMeant(types)
  const { events, position } = await readEvents(vault, caller, {
    from: given ?? oldest,
    heads,
    size,
    isMeant: event => (types.length === 0 || meant.has(event.type)) && maySee(caller.application, event),
  })
  return { pagination: { next: cursorAt(position) }, data: events.map(({ event }) => event) }
}

/** Where rules grant `event:read`, they say of which tokens. */
export const maySee = (application: Application, event: VaultEvent): boolean => {
  const containers = containersOf(event)
  return containers === undefined || decisionFor(application, 'event:read', containers) !== undefined
}
