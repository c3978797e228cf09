import { declareEndpoints } from '../endpoint.ts'
import { eventId } from '../path-parameters.ts'
import { eventPageParameters } from './query.ts'
import { Event, EventPage } from './schemas.ts'

export const eventEndpoints = declareEndpoints({
  listEvents: {
    summary: 'Read the feed of events, oldest first',
    tag: 'Events',
    method: 'GET',
    path: '/events',
    permission: 'event:read',
    logs: { entityType: 'log' },
    isPage: true,
    query: eventPageParameters,
    reply: EventPage,
    status: 200,
    problems: ['cursorTooOld'],
  },

  getEvent: {
    summary: 'Read an event',
    tag: 'Events',
    method: 'GET',
    path: '/events/:id',
    permission: 'event:read',
    logs: { entityType: 'log' },
    params: { id: eventId },
    reply: Event,
    status: 200,
  },
})
