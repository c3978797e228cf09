import type { Issue } from '../errors.ts'
import { eventPatterns } from '../events/event-types.ts'
import { type OutboundPorts, readDestinationUrl } from '../outbound/destination-url.ts'
import { element } from '../place.ts'
import { didYouMean } from '../text/did-you-mean.ts'
import type { Webhook } from './webhook.ts'

/** What a webhook is to be, once its shape is known to be right. */
export type WebhookFields = {
  readonly name: string
  readonly url: string
  readonly events: readonly string[]
  readonly status?: Webhook['status']
}

/**
 * E3. Faults become issues at their place. Only the form of the URL is checked: if its addresses were, saving a webhook would tell which
 * names there are in the network of the vault.
 */
export const defineWebhook = (
  { name, url, events, status = 'enabled' }: WebhookFields,
  ports: OutboundPorts,
  issues: Issue[],
): Pick<Webhook, 'name' | 'url' | 'events' | 'status'> => {
  const { fault } = readDestinationUrl(url, ports)
  if (fault !== undefined) issues.push({ path: 'url', message: fault })
  events.forEach((event, index) => {
    const path = element('events', index)
    if (!eventPatterns.includes(event))
      issues.push({ path, message: `is not a type of event${didYouMean(event, eventPatterns)}` })
    else if (events.indexOf(event) < index) issues.push({ path, message: 'must not be repeated' })
  })
  return { name, url, events, status }
}
