import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseTraceParent } from '@opentelemetry/core'
import { JsonTraceSerializer } from '@opentelemetry/otlp-transformer'
import { exportRequest } from '../../src/cli/watching/otlp.ts'
import { readTracing } from '../../src/config/tracing-config.ts'
import { Telemetry } from '../../src/telemetry/telemetry.ts'
import {
  readTraceparent,
  type Sampling,
  type Trace,
  Tracer,
  traceCounters,
} from '../../src/telemetry/traces.ts'
import { fc } from '../rig/properties.ts'
import { Seeded } from '../rig/seeded.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const parentId = '00f067aa0ba902b7'
const sent = (flags: string): string => `00-${traceId}-${parentId}-${flags}`

const start = (sampling: Sampling, fillRandom: (bytes: Uint8Array) => void = bytes => void bytes.fill(7)) => {
  const taken: Trace[] = []
  const telemetry = new Telemetry()
  const tracer = new Tracer(sampling, {
    fillRandom,
    counters: traceCounters(telemetry),
    sink: { isFull: false, take: trace => void taken.push(trace) },
  })
  return { tracer, taken }
}

describe('traceparent', () => {
  test('what is one, and what it says, is what OpenTelemetry reads (docs/watching.md)', () => {
    const hex = (length: number) =>
      fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: length, maxLength: length })
    const like = fc
      .tuple(
        fc.oneof(fc.constant('00'), hex(2)),
        fc.oneof(fc.constant('0'.repeat(32)), hex(32)),
        fc.oneof(fc.constant('0'.repeat(16)), hex(16)),
        hex(2),
        fc.constantFrom('', '-', '-more', 'x', '-00'),
      )
      .map(([version, trace, span, flags, rest]) => `${version}-${trace}-${span}-${flags}${rest}`)
    const spoilt = fc
      .tuple(like, fc.nat(60), fc.constantFrom('', 'g', 'A', '-', '0'))
      .map(([text, at, with_]) => text.slice(0, at) + with_ + text.slice(at + 1))
    fc.assert(
      fc.property(fc.oneof(like, spoilt), text => {
        const read = readTraceparent(text)
        const theirs = parseTraceParent(text)
        assert.equal(read === undefined, theirs === null, text)
        if (read === undefined) return
        assert.equal(read.slice(3, 35), theirs?.traceId)
        assert.equal(read.slice(36, 52), theirs?.spanId)
        assert.equal(Number.parseInt(read.slice(53), 16), theirs?.traceFlags)
      }),
    )
  })

  test('one that is repeated, or none, is none (docs/watching.md)', () => {
    assert.equal(readTraceparent(undefined), undefined)
    assert.equal(readTraceparent([sent('01'), sent('01')]), undefined)
  })
})

describe('sampling', () => {
  const parent = { none: undefined, yes: sent('01'), no: sent('00'), random: sent('03') }
  const cases: { name: string; sampling: Sampling; traced: readonly (keyof typeof parent)[] }[] = [
    {
      name: 'always_on',
      sampling: { ratio: 1, followsParent: false },
      traced: ['none', 'yes', 'no', 'random'],
    },
    { name: 'always_off', sampling: { ratio: 0, followsParent: false }, traced: [] },
    {
      name: 'parentbased_always_on',
      sampling: { ratio: 1, followsParent: true },
      traced: ['none', 'yes', 'random'],
    },
    {
      name: 'parentbased_always_off',
      sampling: { ratio: 0, followsParent: true },
      traced: ['yes', 'random'],
    },
  ]
  for (const { name, sampling, traced } of cases)
    test(`${name} (docs/watching.md)`, () => {
      const { tracer } = start(sampling)
      for (const [kind, text] of Object.entries(parent))
        assert.equal(
          tracer.begin('x', text, 0) !== undefined,
          traced.some(one => one === kind),
          kind,
        )
    })

  test('a ratio is the share of requests that are traced, by ids of their own or by those that are sent (docs/watching.md)', () => {
    const random = new Seeded(1)
    const fill = (bytes: Uint8Array): void => {
      for (let at = 0; at < bytes.length; at++) bytes[at] = random.below(256)
    }
    const { tracer } = start({ ratio: 0.1, followsParent: false }, fill)
    const id = (): string => {
      const bytes = Buffer.alloc(16)
      fill(bytes)
      return bytes.toString('hex')
    }
    const own = Array.from({ length: 10_000 }, () => tracer.begin('x', undefined, 0))
    const theirs = Array.from({ length: 10_000 }, () => tracer.begin('x', `00-${id()}-${parentId}-00`, 0))
    for (const all of [own, theirs]) {
      const traced = all.filter(trace => trace !== undefined)
      assert.ok(traced.length > 900 && traced.length < 1_100, `${traced.length}`)
      assert.equal(new Set(traced.map(trace => trace.id)).size, traced.length)
      // Who samples by the same id decides the same.
      for (const { id } of traced) assert.ok(tracer.begin('x', `00-${id}-${parentId}-00`, 0))
    }
  })
})

describe('spans', () => {
  test('they are what the SDK of OpenTelemetry would send (docs/watching.md)', () => {
    let last = 0
    const { tracer, taken } = start({ ratio: 1, followsParent: true }, bytes => void bytes.fill(++last))
    for (const [parent, hasFailed] of [
      [sent('01'), true],
      [undefined, false],
    ] as const) {
      const trace = tracer.begin('POST /tokens', parent, performance.now())
      assert.ok(trace)
      trace.begin('wait').end()
      const operation = trace.begin('createToken')
      trace.begin('commit').end()
      operation.end()
      trace.begin('left open')
      Object.assign(trace.attributes, { 'http.route': '/tokens', 'http.response.status_code': 500 })
      trace.hasFailed = hasFailed
      tracer.end(trace)
    }
    const attributes = { 'service.name': 'vault', 'process.pid': 7 }
    const resource = { attributes }
    const theirs = JsonTraceSerializer.serializeRequest(
      taken.flatMap(trace => trace.spans.map((span, place) => asTheirs(trace, span, place, resource))),
    )
    assert.deepEqual(
      withoutNothing(JSON.parse(exportRequest(attributes, '1.0', taken))),
      withoutNothing(JSON.parse(Buffer.from(theirs ?? []).toString())),
    )
    assert.equal(taken[0]?.traceparent, `00-${traceId}-${taken[0]?.spans[0]?.id}-01`)
    const [names, parents] = [
      taken[0]?.spans.map(({ name }) => name),
      taken[0]?.spans.map(({ parentId: of }) => taken[0]?.spans.find(({ id }) => id === of)?.name),
    ]
    assert.deepEqual(names, ['POST /tokens', 'wait', 'createToken', 'commit', 'left open'])
    assert.deepEqual(parents, [undefined, 'POST /tokens', 'POST /tokens', 'createToken', 'POST /tokens'])
  })
})

type TheirSpan = Parameters<typeof JsonTraceSerializer.serializeRequest>[0][number]

/** What their serializer reads of a span. */
const asTheirs = (
  trace: Trace,
  span: Trace['spans'][0],
  place: number,
  resource: { readonly attributes: Record<string, string | number> },
): TheirSpan => {
  const hr = (ms: number): [number, number] => {
    const microseconds = Math.round((performance.timeOrigin + ms) * 1_000)
    return [Math.floor(microseconds / 1e6), (microseconds % 1e6) * 1_000]
  }
  const isRoot = place === 0
  return {
    name: span.name,
    // SERVER and INTERNAL, as the interface of OpenTelemetry numbers them.
    kind: isRoot ? 1 : 0,
    spanContext: () => ({ traceId: trace.id, spanId: span.id, traceFlags: 1 }),
    parentSpanContext: span.parentId && {
      traceId: trace.id,
      spanId: span.parentId,
      traceFlags: 1,
      isRemote: isRoot,
    },
    startTime: hr(span.begunAt),
    endTime: hr(span.endedAt ?? 0),
    status: { code: isRoot && trace.hasFailed ? 2 : 0 },
    attributes: isRoot ? trace.attributes : {},
    links: [],
    events: [],
    duration: [0, 0],
    ended: true,
    resource,
    instrumentationScope,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  } as unknown as TheirSpan
}

const instrumentationScope = { name: 'strongroom', version: '1.0' }

/** Zeros and empty lists say the same as fields that are not there. */
const withoutNothing = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutNothing)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, field]) => field !== 0 && !(Array.isArray(field) && field.length === 0))
      .map(([key, field]) => [key, withoutNothing(field)]),
  )
}

describe('the variables of OpenTelemetry', () => {
  const endpoint = 'OTEL_EXPORTER_OTLP_ENDPOINT'
  const url = 'http://collector:4318'

  test('without a collector, or switched off, nothing is traced (docs/watching.md)', () => {
    for (const more of [
      {},
      { [endpoint]: '' },
      { [endpoint]: url, OTEL_SDK_DISABLED: 'true' },
      { [endpoint]: url, OTEL_TRACES_EXPORTER: 'none' },
    ])
      assert.equal(readTracing(more), undefined)
  })

  test('they say where traces go, how, and of which requests; those for traces alone count first (docs/watching.md)', () => {
    assert.deepEqual(readTracing({ [endpoint]: url }), {
      url: new URL(`${url}/v1/traces`),
      headers: {},
      timeoutMs: 10_000,
      resource: { 'service.name': 'strongroom' },
      sampling: { ratio: 1, followsParent: true },
      queueMax: 2_048,
      batchMax: 512,
      delayMs: 5_000,
    })
    const read = readTracing({
      [endpoint]: url,
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://other/path',
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20x, a=b=c',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
      OTEL_EXPORTER_OTLP_TIMEOUT: '500',
      OTEL_RESOURCE_ATTRIBUTES: 'service.name=a,zone=b',
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.01',
      OTEL_BSP_MAX_QUEUE_SIZE: '100',
    })
    assert.deepEqual(read, {
      url: new URL('https://other/path'),
      headers: { authorization: 'Bearer x', a: 'b=c' },
      timeoutMs: 500,
      resource: { 'service.name': 'a', zone: 'b' },
      sampling: { ratio: 0.01, followsParent: true },
      queueMax: 100,
      batchMax: 100,
      delayMs: 5_000,
    })
    assert.equal(readTracing({ [endpoint]: `${url}/base/` })?.url.pathname, '/base/v1/traces')
  })

  const refused: [Record<string, string>, RegExp][] = [
    [{ [endpoint]: 'collector:4318' }, /OTEL_EXPORTER_OTLP_ENDPOINT must be/],
    [{ [endpoint]: url, OTEL_TRACES_EXPORTER: 'jaeger' }, /OTEL_TRACES_EXPORTER must be/],
    [
      { [endpoint]: url, OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'grpc' },
      /OTEL_EXPORTER_OTLP_TRACES_PROTOCOL must be/,
    ],
    [{ [endpoint]: url, OTEL_EXPORTER_OTLP_HEADERS: 'secret' }, /OTEL_EXPORTER_OTLP_HEADERS must be/],
    [{ [endpoint]: url, OTEL_EXPORTER_OTLP_HEADERS: 'a=%0d%0ab' }, /OTEL_EXPORTER_OTLP_HEADERS must be/],
    [{ [endpoint]: url, OTEL_TRACES_SAMPLER: 'often' }, /OTEL_TRACES_SAMPLER must be one of always_on/],
    [
      { [endpoint]: url, OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '2' },
      /OTEL_TRACES_SAMPLER_ARG must be/,
    ],
    [{ [endpoint]: url, OTEL_BSP_SCHEDULE_DELAY: '-1' }, /OTEL_BSP_SCHEDULE_DELAY must be/],
  ]
  for (const [environment, says] of refused)
    test(`refused: ${says.source} (C35.4)`, () => {
      assert.throws(
        () => readTracing(environment),
        (error: Error) => says.test(error.message) && !error.message.includes('secret'),
      )
    })
})
