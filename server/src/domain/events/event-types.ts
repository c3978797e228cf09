/** Everything that events tell of (E2). A name is for ever: programs branch on it. */
export const eventTypes = [
  'token.created',
  'token.updated',
  'token.deleted',
  'token.expired',
  'token.read',
  'token.used',
  'application.created',
  'application.updated',
  'application.deleted',
  'application.key.created',
  'application.key.deleted',
  'tenant.updated',
  'tenant.rekeyed',
  'proxy.created',
  'proxy.updated',
  'proxy.deleted',
  'proxy.invoked',
  'webhook.created',
  'webhook.updated',
  'webhook.deleted',
  'webhook.disabled',
] as const

export type EventType = (typeof eventTypes)[number]

/** A busy vault reads tokens all the time, so only whoever names these types gets them. */
const onlyByName: readonly EventType[] = ['token.read', 'token.used']

const familiesOf = (type: string): string[] => {
  const names = type.split('.').slice(0, -1)
  return names.map((_, index) => `${names.slice(0, index + 1).join('.')}.*`)
}

/** `token.*` stands for all types that begin so, except those of `onlyByName`. */
export const eventFamilies: readonly string[] = [...new Set(eventTypes.flatMap(familiesOf))]

/** What a webhook or a reader of the feed may name. */
export const eventPatterns: readonly string[] = [...eventTypes, ...eventFamilies]

/** The types that these patterns stand for. */
export const typesMeant = (patterns: readonly string[]): ReadonlySet<EventType> =>
  new Set(
    eventTypes.filter(
      type =>
        patterns.includes(type) ||
        (!onlyByName.includes(type) && familiesOf(type).some(family => patterns.includes(family))),
    ),
  )
