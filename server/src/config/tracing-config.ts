import type { Sampling } from '../telemetry/traces.ts'
import { ConfigError } from './config-error.ts'

/** Where traces of requests are sent, and of which. */
export type TracingConfig = {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  /** What all spans say of the server. */
  readonly resource: Readonly<Record<string, string>>
  readonly sampling: Sampling
  /** Spans that may wait, and in one request; how long they wait for others. */
  readonly queueMax: number
  readonly batchMax: number
  readonly delayMs: number
}

type Environment = Readonly<Record<string, string | undefined>>

/**
 * From OpenTelemetry's own variables, which the operators of a collector know and tools set. Undefined if they name no collector: then
 * nothing is traced.
 */
export const readTracing = (environment: Environment): TracingConfig | undefined => {
  /** An empty variable counts as not set. */
  const find = (...names: readonly string[]): Given | undefined => {
    for (const name of names) {
      const text = environment[name]?.trim()
      if (text !== undefined && text !== '') return { name, text }
    }
    return undefined
  }
  const forTraces = (name: string): Given | undefined =>
    find(`OTEL_EXPORTER_OTLP_TRACES_${name}`, `OTEL_EXPORTER_OTLP_${name}`)
  const isOff = find('OTEL_SDK_DISABLED')?.text.toLowerCase() === 'true'
  const kind = find('OTEL_TRACES_EXPORTER')
  const endpoint = forTraces('ENDPOINT')
  if (isOff || endpoint === undefined || kind?.text === 'none') return undefined
  if (kind !== undefined && kind.text !== 'otlp')
    throw new ConfigError(`${kind.name} must be otlp or none: traces are only sent by OTLP`)
  const protocol = forTraces('PROTOCOL')
  if (protocol !== undefined && !protocol.text.startsWith('http/'))
    throw new ConfigError(
      `${protocol.name} must be http/json: set it, and the endpoint to the port on which the collector takes HTTP (4318)`,
    )
  const whole = (name: string, fallback: number): number => wholeOf(find(name), fallback)
  const queueMax = whole('OTEL_BSP_MAX_QUEUE_SIZE', 2_048)
  return {
    url: urlOf(endpoint),
    headers: Object.fromEntries(pairsOf(forTraces('HEADERS'), headerName)),
    timeoutMs: wholeOf(forTraces('TIMEOUT'), 10_000),
    resource: {
      'service.name': 'strongroom',
      ...Object.fromEntries(pairsOf(find('OTEL_RESOURCE_ATTRIBUTES'), /^\S+$/)),
      ...ifNamed(find('OTEL_SERVICE_NAME')),
    },
    sampling: samplingOf(find('OTEL_TRACES_SAMPLER'), find('OTEL_TRACES_SAMPLER_ARG')),
    queueMax,
    batchMax: Math.min(queueMax, whole('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 512)),
    delayMs: whole('OTEL_BSP_SCHEDULE_DELAY', 5_000),
  }
}

type Given = { readonly name: string; readonly text: string }

const headerName = /^[!#$%&'*+.^_\x60|~\w-]+$/

const ifNamed = (given: Given | undefined): Record<string, string> =>
  given === undefined ? {} : { 'service.name': given.text }

/** The address for all signals is one to which the path of traces is added. */
const urlOf = ({ name, text }: Given): URL => {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new ConfigError(`${name} must be the http:// or https:// address of a collector`)
  if (!name.includes('TRACES')) url.pathname = `${url.pathname.replace(/\/$/, '')}/v1/traces`
  return url
}

/** `key=value,key=value`, with values percent-encoded. */
const pairsOf = (given: Given | undefined, key: RegExp): [string, string][] => {
  if (given === undefined) return []
  const fault = new ConfigError(`${given.name} must be a list such as key=value,other=value`)
  return given.text
    .split(',')
    .filter(pair => pair.trim() !== '')
    .map(pair => {
      const at = pair.indexOf('=')
      const name = pair.slice(0, at).trim()
      if (at === -1 || !key.test(name)) throw fault
      try {
        const value = decodeURIComponent(pair.slice(at + 1).trim())
        if (/[\r\n\0]/.test(value)) throw fault
        return [name, value]
      } catch {
        throw fault
      }
    })
}

const wholeOf = (given: Given | undefined, fallback: number): number => {
  if (given === undefined) return fallback
  if (!/^[1-9]\d{0,6}$/.test(given.text)) throw new ConfigError(`${given.name} must be a whole number from 1`)
  return Number(given.text)
}

const samplers: Readonly<Record<string, (ratio: number) => Sampling>> = {
  always_on: () => ({ ratio: 1, followsParent: false }),
  always_off: () => ({ ratio: 0, followsParent: false }),
  traceidratio: ratio => ({ ratio, followsParent: false }),
  parentbased_always_on: () => ({ ratio: 1, followsParent: true }),
  parentbased_always_off: () => ({ ratio: 0, followsParent: true }),
  parentbased_traceidratio: ratio => ({ ratio, followsParent: true }),
}

const samplingOf = (given: Given | undefined, argument: Given | undefined): Sampling => {
  const sampler = samplers[given?.text ?? 'parentbased_always_on']
  if (sampler === undefined)
    throw new ConfigError(`${given?.name} must be one of ${Object.keys(samplers).join(', ')}`)
  const text = argument?.text ?? '1'
  const ratio = /^(\d+(\.\d*)?|\.\d+)([eE]-\d+)?$/.test(text) ? Number(text) : Number.NaN
  if (!(ratio <= 1)) throw new ConfigError(`${argument?.name} must be a number from 0 to 1`)
  return sampler(ratio)
}
