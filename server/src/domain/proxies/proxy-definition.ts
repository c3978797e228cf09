import type { Issue } from '../errors.ts'
import { getOwn, type JsonObject, keysAsSent } from '../json/json.ts'
import { limits } from '../limits.ts'
import { type OutboundPorts, readDestinationUrl } from '../outbound/destination-url.ts'
import { chosenKey, element } from '../place.ts'
import { readRequestTransforms, readResponseTransforms } from '../rendering/transforms.ts'
import { Secret } from '../secret.ts'
import { countCharacters } from '../text/characters.ts'
import { hiddenValue, type OutboundProxy, type ProxyMethod } from './proxy.ts'

/** What a proxy is to be, once its shape is known to be right. */
export type ProxyFields = {
  readonly name: string
  readonly destination_url: string
  readonly require_auth?: boolean
  readonly application?: { readonly id: string }
  readonly configuration?: Readonly<Record<string, string>>
  readonly request_transforms?: readonly JsonObject[]
  readonly response_transforms?: readonly JsonObject[]
  readonly timeout?: number
  readonly echo_guard?: boolean
  readonly methods?: readonly ProxyMethod[]
}

type Defined = Omit<OutboundProxy, 'id' | 'createdBy' | 'createdAt' | 'modifiedBy' | 'modifiedAt'>

/** U18. Faults become issues at their place. `before` is the proxy's configuration until now, of which hidden values are kept. */
export const defineProxy = (
  fields: ProxyFields,
  before: OutboundProxy['configuration'],
  ports: OutboundPorts,
  issues: Issue[],
): Defined => {
  const requireAuth = fields.require_auth ?? true
  const { fault } = readDestinationUrl(fields.destination_url, ports)
  if (fault !== undefined) issues.push({ path: 'destination_url', message: fault })
  if (!requireAuth && fields.application === undefined)
    issues.push({ path: 'application', message: 'is required with require_auth false' })
  fields.methods?.forEach((method, index, methods) => {
    if (methods.indexOf(method) < index)
      issues.push({ path: element('methods', index), message: 'must not be repeated' })
  })
  const requestTransforms = fields.request_transforms ?? []
  const responseTransforms = fields.response_transforms ?? []
  readRequestTransforms(requestTransforms, 'request_transforms', issues)
  readResponseTransforms(responseTransforms, 'response_transforms', issues)
  if (
    Buffer.byteLength(JSON.stringify([requestTransforms, responseTransforms])) > limits.proxyTransformsBytes
  )
    issues.push({
      path: '$',
      message: `must have at most ${limits.proxyTransformsBytes} bytes of transforms`,
    })
  return {
    name: fields.name,
    destinationUrl: fields.destination_url,
    requireAuth,
    ...(fields.application && { applicationId: fields.application.id }),
    configuration: readConfiguration(fields.configuration ?? {}, before, issues),
    requestTransforms,
    responseTransforms,
    ...(fields.timeout !== undefined && { timeoutSeconds: fields.timeout }),
    echoGuard: fields.echo_guard ?? true,
    ...(fields.methods && { methods: fields.methods }),
  }
}

/** A letter first, so that none of them means something to JavaScript. */
const nameForm = /^[A-Za-z][A-Za-z0-9_.-]*$/

const readConfiguration = (
  sent: Readonly<Record<string, string>>,
  before: OutboundProxy['configuration'],
  issues: Issue[],
): Record<string, Secret<string>> => {
  const names = keysAsSent(sent)
  if (names.length > limits.configurationKeys)
    issues.push({ path: 'configuration', message: `must have at most ${limits.configurationKeys} keys` })
  const configuration: Record<string, Secret<string>> = {}
  names.slice(0, limits.configurationKeys).forEach((name, index) => {
    const path = chosenKey('configuration', name, index + 1)
    const value = getOwn(sent, name)
    const fault = nameFault(name) ?? valueFault(value)
    if (fault !== undefined) issues.push({ path, message: fault })
    else if (value !== hiddenValue) configuration[name] = new Secret(String(value))
    else if (Object.hasOwn(before, name) && before[name]) configuration[name] = before[name]
    else
      issues.push({
        path,
        message: `is ${hiddenValue}, which stands for a value that is kept, but there is none`,
      })
  })
  return configuration
}

const nameFault = (name: string): string | undefined =>
  name.length <= limits.configurationNameCharactersMax && nameForm.test(name)
    ? undefined
    : `must have a name of at most ${limits.configurationNameCharactersMax} letters, digits, dots, hyphens and underscores, which begins with a letter`

const valueFault = (value: unknown): string | undefined =>
  countCharacters(String(value)) <= limits.configurationValueCharactersMax
    ? undefined
    : `must have at most ${limits.configurationValueCharactersMax} characters`
