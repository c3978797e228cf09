import assert from 'node:assert/strict'
import { catalogue, type ErrorCode, wireCode } from '../../src/domain/errors.ts'

const codes = new Map(
  Object.entries(catalogue).map(([key, { status }]) => [wireCode(key as ErrorCode), status]),
)

/** An answer as tests see it, however it was requested. */
export type TestReply = {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body as JSON; undefined if it is empty or not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely and assert what they find
  readonly body: any
}

export const makeReply = (status: number, headers: Headers, text: string): TestReply => ({
  status,
  headers,
  text,
  body: text === '' || !isJson(headers) ? undefined : JSON.parse(text),
})

/** Lines of JSON are not JSON. */
const isJson = (headers: Headers): boolean =>
  /\bjson\b/.test(headers.get('content-type')?.replace('x-ndjson', '') ?? '')

/** The body of an answer whose success the test takes for granted. */
export const granted = (reply: TestReply): TestReply['body'] => {
  assert.ok(reply.status < 300, `${reply.status} ${reply.text}`)
  return reply.body
}

/** An answer without the parts that differ from request to request. Two equal ones tell the caller the same. */
export const appearance = ({ status, headers, body }: TestReply) => {
  const { trace_id: _trace, ...rest } = body ?? {}
  return {
    status,
    headers: [...headers].filter(([name]) => !['date', 'svc-trace-id', 'svc-audit'].includes(name)).sort(),
    body: rest,
  }
}

/** What holds for every answer of the vault (C2, C4); each exchange of each test is checked against it. */
export const assertAnswerRules = (reply: TestReply, method: string): void => {
  const { status, headers, text } = reply
  const trace = headers.get('svc-trace-id')
  assert.match(trace ?? '', /^[A-Za-z0-9._-]{8,64}$/, 'every answer has a trace id')
  assert.equal(headers.get('cache-control'), 'no-store', 'no answer may be kept')
  if (status === 204) {
    assert.equal(text, '')
    assert.equal(headers.get('content-type'), null)
  }
  if (method === 'HEAD') return
  if (headers.get('content-type')?.includes('json'))
    assert.ok(text.endsWith('\n'), 'JSON ends with a newline')
  if (status < 400) return
  const isOfProxy = headers.has('svc-proxy-error')
  const body = isOfProxy ? reply.body.proxy_error : reply.body
  if (isOfProxy) assert.equal(body.code, headers.get('svc-proxy-error'))
  else assert.match(headers.get('content-type') ?? '', /^application\/problem\+json(;|$)/)
  assert.equal(body.trace_id, trace)
  assert.equal(body.status, status)
  assert.equal(body.type, 'about:blank')
  assert.equal(typeof body.title, 'string')
  assert.ok(codes.get(body.code) === status, `${status} ${body.code} is not in the catalogue`)
  assertDetail(body)
  const members = [
    'type',
    'title',
    'status',
    'code',
    'detail',
    'trace_id',
    ...(status === 400 ? ['errors'] : []),
    ...(body.code === 'cursor_too_old' ? ['oldest'] : []),
    ...(isOfProxy && 'sent' in body ? ['sent'] : []),
  ]
  assert.deepEqual(Object.keys(body).sort(), members.sort())
  if (status === 400) assertErrorMap(body.errors)
}

/** C2: the detail says something that the title does not. */
export const assertDetail = ({ title, detail }: { title: string; detail: string }): void => {
  const plain = (text: string): string => text.toLowerCase().replace(/[^a-z0-9]/g, '')
  assert.notEqual(plain(detail), '')
  assert.ok(!plain(detail).includes(plain(title)), `the detail repeats the title: ${detail}`)
}

const assertErrorMap = (errors: Record<string, string[]>): void => {
  assert.ok(Object.keys(errors).length > 0, 'a 400 says where')
  for (const [place, messages] of Object.entries(errors)) {
    assert.notEqual(place, '')
    assert.ok(messages.length > 0)
    for (const message of messages) assert.equal(typeof message, 'string')
  }
}
