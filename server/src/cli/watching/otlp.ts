import type { Trace, TraceValue } from '../../telemetry/traces.ts'

/** What the spans of a process have in common. */
export type Resource = Readonly<Record<string, TraceValue>>

/** The body of an export request, in OTLP's JSON. */
export const exportRequest = (resource: Resource, version: string, traces: readonly Trace[]): string =>
  JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: attributesOf(resource) },
        scopeSpans: [{ scope: { name: 'strongroom', version }, spans: traces.flatMap(spansOf) }],
      },
    ],
  })

/** OTLP's numbers: a server's span, one inside a process, and a failure. */
const server = 2
const internal = 1
const failed = 2
/** Bit 0: sampled. The next bits say whether the parent is in another process. */
const sampled = 0x01
const knowsParent = 0x100
const isRemote = 0x200

const spansOf = ({ id, spans, attributes, hasFailed }: Trace): object[] =>
  spans.map((span, place) => {
    const isRequest = place === 0
    return {
      traceId: id,
      spanId: span.id,
      ...(span.parentId !== undefined && { parentSpanId: span.parentId }),
      name: span.name,
      kind: isRequest ? server : internal,
      startTimeUnixNano: nanoseconds(span.begunAt),
      endTimeUnixNano: nanoseconds(span.endedAt ?? span.begunAt),
      attributes: isRequest ? attributesOf(attributes) : [],
      status: isRequest && hasFailed ? { code: failed } : { code: 0 },
      flags: sampled | knowsParent | (isRequest && span.parentId !== undefined ? isRemote : 0),
    }
  })

/** As text: a number would lose the last digits. */
const nanoseconds = (ms: number): string => {
  const microseconds = Math.round((performance.timeOrigin + ms) * 1_000)
  return `${microseconds}000`
}

const attributesOf = (values: Readonly<Record<string, TraceValue>>): object[] =>
  Object.entries(values).map(([key, value]) => ({
    key,
    value: typeof value === 'number' ? { intValue: value } : { stringValue: value },
  }))
