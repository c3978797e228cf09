import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { tracerFor } from '../../src/cli/watching/otlp-exporter.ts'
import { readTracing } from '../../src/config/tracing-config.ts'
import { Telemetry } from '../../src/telemetry/telemetry.ts'
import { totalOf } from '../../src/telemetry/totals.ts'
import { traceCounters } from '../../src/telemetry/traces.ts'
import { isLong } from '../rig/long-run.ts'
import { assertRefused, Site } from '../rig/program.ts'
import { Scrape } from '../rig/scrape.ts'
import { freshCall } from './fresh-call.ts'
import { serveWatched } from './watched.ts'

type Sent = {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly { readonly key: string; readonly value: Record<string, unknown> }[]
}
type Received = { readonly headers: Record<string, unknown>; readonly text: string; readonly url: string }

/** Takes what is exported, or answers with another status. */
class Collector {
  readonly received: Received[] = []
  status = 200
  readonly #server: Server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request.setEncoding('utf8')) text += chunk
    this.received.push({ headers: request.headers, text, url: request.url ?? '' })
    response.writeHead(this.status, { 'content-type': 'application/json' }).end('{}')
    this.#server.emit('received')
  })

  async listen(): Promise<string> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening')
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async until(isEnough: () => boolean): Promise<void> {
    while (!isEnough()) await once(this.#server, 'received')
  }

  get spans(): Sent[] {
    return this.received.flatMap(({ text }) => JSON.parse(text).resourceSpans[0].scopeSpans[0].spans)
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const parentId = '00f067aa0ba902b7'

describe('traces of a server', { timeout: 120_000 }, () => {
  const site = new Site()
  const collector = new Collector()
  let environment: Record<string, string>
  before(async () => {
    environment = {
      OTEL_EXPORTER_OTLP_ENDPOINT: await collector.listen(),
      OTEL_EXPORTER_OTLP_HEADERS: 'x-scope=a%20b',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=test,service.name=other',
      OTEL_SERVICE_NAME: 'vault',
      OTEL_TRACES_SAMPLER: 'parentbased_always_off',
    }
  })
  after(async () => {
    await site.remove()
    collector.close()
  })

  test('a request that its caller traces becomes spans of the same trace: its wait, its operation and in it the commit; they hold nothing of its body and not whose it is (C2.5, docs/watching.md)', async () => {
    const server = await serveWatched(site, ['--workers', isLong ? '2' : '1'], environment)
    const made = await site.json('tenant', 'create', '--name', 'Acme')
    const secret = 'the value that nobody may see'
    const create = (flags: string) =>
      freshCall(
        server.url,
        'POST',
        '/tokens',
        made.api_key,
        { type: 'token', data: secret },
        {
          traceparent: `00-${traceId}-${parentId}-${flags}`,
          'svc-trace-id': 'the-one-we-look-for',
        },
      )
    assert.equal((await create('00')).status, 201)
    const { status, body } = await create('01')
    assert.equal(status, 201)
    assert.equal(
      (
        await freshCall(server.url, 'GET', '/health', '', undefined, {
          traceparent: `00-${traceId}-${parentId}-01`,
        })
      ).status,
      200,
    )
    assert.equal(
      (
        await freshCall(server.url, 'GET', '/nowhere', '', undefined, {
          traceparent: `00-${traceId}-${parentId}-01`,
        })
      ).status,
      401,
    )
    assert.equal((await freshCall(server.url, 'GET', '/nowhere', '')).status, 401)
    server.child.kill('SIGTERM')
    assert.equal((await server.exited).code, 0)

    const roots = collector.spans.filter(({ parentSpanId }) => parentSpanId === parentId)
    assert.deepEqual(roots.map(({ name }) => name).sort(), ['POST /tokens', 'no such route'])
    assert.ok(collector.spans.every(span => span.traceId === traceId))
    const [root] = roots.filter(({ name }) => name === 'POST /tokens')
    assert.ok(root)
    assert.equal(root.kind, 2)
    assert.deepEqual(
      Object.fromEntries(root.attributes.map(({ key, value }) => [key, Object.values(value)[0]])),
      {
        'http.request.method': 'POST',
        'http.route': '/tokens',
        'http.response.status_code': 201,
        'strongroom.trace_id': 'the-one-we-look-for',
      },
    )
    const childrenOf = ({ spanId }: Sent): Sent[] =>
      collector.spans.filter(({ parentSpanId }) => parentSpanId === spanId)
    const operation = childrenOf(root).find(({ name }) => name === 'createToken')
    assert.ok(operation)
    assert.ok(childrenOf(root).some(({ name }) => name === 'wait for a turn'))
    assert.deepEqual(
      childrenOf(operation).map(({ name }) => name),
      ['commit'],
    )
    for (const span of [operation, ...childrenOf(operation)]) {
      assert.ok(root.startTimeUnixNano <= span.startTimeUnixNano)
      assert.ok(
        span.startTimeUnixNano <= span.endTimeUnixNano && span.endTimeUnixNano <= root.endTimeUnixNano,
      )
    }
    assert.ok(Math.abs(Number(root.endTimeUnixNano) / 1e6 - Date.now()) < 60_000)

    const [first] = collector.received
    assert.ok(first)
    assert.equal(first.url, '/v1/traces')
    assert.equal(first.headers['x-scope'], 'a b')
    const { attributes } = JSON.parse(first.text).resourceSpans[0].resource
    const resource = Object.fromEntries(
      attributes.map(({ key, value }: Sent['attributes'][0]) => [key, Object.values(value)[0]]),
    )
    assert.equal(resource['service.name'], 'vault')
    assert.equal(resource['deployment.environment'], 'test')
    for (const { text } of collector.received)
      for (const absent of [secret, made.api_key, made.tenant_id, body.id, 'nowhere'])
        assert.ok(!text.includes(absent))
  })

  test('variables that cannot be meant are refused at the start (C35.4)', async () => {
    assertRefused(
      await site.run(['serve', '--port', '0', ...site.vault], {
        ...environment,
        OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
      }),
      2,
      /OTEL_EXPORTER_OTLP_PROTOCOL must be http\/json/,
    )
  })
})

describe('the exporter of traces', { timeout: 60_000 }, () => {
  const silent = { isDebug: false, error: () => {}, info: () => {}, debug: () => {}, warn: () => {} }
  const sampled = `00-${traceId}-${parentId}-01`

  const open = async (collector: Collector, more: Record<string, string> = {}) => {
    const telemetry = new Telemetry()
    const config = readTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: await collector.listen(), ...more })
    assert.ok(config)
    const { tracer, close } = tracerFor(config, traceCounters(telemetry), silent)
    const counted = (name: string): number => new Scrape(totalOf(telemetry).text).sum(`strongroom_${name}`)
    const request = (): boolean => {
      const trace = tracer.begin('request', sampled, performance.now())
      if (trace !== undefined) tracer.end(trace)
      return trace !== undefined
    }
    return { request, counted, close }
  }

  test('spans leave together, once enough wait, and the last ones when the server ends (docs/watching.md)', async () => {
    const collector = new Collector()
    const { request, counted, close } = await open(collector, { OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '10' })
    for (let n = 0; n < 25; n++) assert.ok(request())
    await collector.until(() => collector.received.length === 2)
    await close()
    assert.deepEqual(
      collector.received.map(({ text }) => JSON.parse(text).resourceSpans[0].scopeSpans[0].spans.length),
      [10, 10, 5],
    )
    assert.equal(counted('trace_spans_sent_total'), 25)
    collector.close()
  })

  test('what a collector does not take is dropped and counted, and nothing is traced while too much waits (docs/watching.md)', async () => {
    const collector = new Collector()
    collector.status = 503
    const limits = { OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '10', OTEL_BSP_MAX_QUEUE_SIZE: '30' }
    const { request, counted, close } = await open(collector, limits)
    for (let n = 0; n < 10; n++) assert.ok(request())
    await collector.until(() => collector.received.length === 1)
    while (counted('trace_send_failures_total') === 0) await new Promise(resolve => setImmediate(resolve))
    // Nothing is sent for a while, so so many wait.
    const traced = Array.from({ length: 100 }, request).filter(isTraced => isTraced).length
    assert.equal(traced, 30)
    assert.equal(counted('traces_dropped_total'), 10 + 70)
    assert.equal(collector.received.length, 1)
    collector.close()
    await close()
    assert.equal(counted('trace_spans_sent_total'), 0)
  })
})
