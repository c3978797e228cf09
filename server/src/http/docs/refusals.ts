import { type CatalogueEntry, catalogue, type ErrorCode, wireCode } from '../../domain/errors.ts'
import { limits } from '../../domain/limits.ts'
import { code, pre } from './forms.ts'
import { type Html, html, type Part } from './html.ts'
import type { PageContent } from './layout.ts'
import type { Links } from './links.ts'

/** Why a request is refused, likeliest first, and what helps. A new code must have its line here. */
type Refusal = { readonly because: readonly string[]; readonly helps: string }

const refusals: Readonly<Record<ErrorCode, Refusal>> = {
  invalidRequest: {
    because: [
      'A field is missing, misspelt or of the wrong form: `errors` names the place, and often the name you meant.',
      'A number fails its check: Luhn for cards, the checksum of ABA for routing numbers.',
      'An expression has an unknown filter or variable; the message has its position.',
      'A query parameter does not exist. A misspelt filter must not return everything.',
      'An id or metadata holds the number that the token is to hide.',
    ],
    helps: 'Correct what `errors` names. Nothing was stored.',
  },
  invalidHttp: {
    because: [
      'The request breaks off, or is not HTTP: often TLS sent to a port without TLS, or the reverse.',
    ],
    helps: 'Check the address and its `http` or `https`.',
  },
  unauthorized: {
    because: [
      'No key in the header that `detail` names. The header has a prefix, `SVC` unless the operator set another.',
      'The key was revoked, has expired, or is of another vault.',
      'The tenant was deleted, and its keys with it.',
    ],
    helps:
      'Send a key that works. Its form tells what it is for: `key_private_…` reads, `key_management_…` manages.',
  },
  forbidden: {
    because: [
      'No rule of the application holds the permission that `detail` names.',
      'It writes, and one of the containers has no rule with the permission. To move a token takes both places.',
      'It reads the token only masked, and would change its mask, fingerprint expression, indexes or containers.',
      'It is a public application, which changes `data`, `metadata` and `expires_at` alone.',
    ],
    helps: 'Ask `POST /applications/<id>/explain` which rule decides, and grant what is missing.',
  },
  notFound: {
    because: [
      'There is no such token: it was deleted, has expired, or never was.',
      'It is of another tenant, or no rule of yours covers its containers. All of these get the same answer, so that nobody learns of tokens by asking.',
    ],
    helps: 'Compare the id, and ask `explain` about the container.',
  },
  noSuchRoute: {
    because: ['The path is misspelt, or has a prefix that a proxy in front should remove.'],
    helps: 'Compare it with the reference. The answer suggests a path that is near.',
  },
  methodNotAllowed: {
    because: ['The path takes other methods: changes of tokens are `PATCH`, of applications `PUT`.'],
    helps: 'Use one that `Allow` names.',
  },
  idTaken: {
    because: ['A token with this id exists; perhaps you made it with an attempt whose answer was lost.'],
    helps:
      'Choose another id. For retries, send an idempotency key: the second request then gets the first answer.',
  },
  writeContention: {
    because: ['Many requests change the same token or application at once.'],
    helps: 'Send it again after `Retry-After`.',
  },
  requestInFlight: {
    because: [
      'A request with the same idempotency key is still at work. Often a client whose timeout is too short.',
    ],
    helps: 'Send it again after `Retry-After`: it gets the answer of the first.',
  },
  deliveryInFlight: {
    because: ['The event is being sent to the webhook at this moment.'],
    helps: 'Look at the failed deliveries again in a moment.',
  },
  webhookDisabled: {
    because: ['The webhook was switched off, by hand or because its receiver failed for days.'],
    helps: 'Repair the receiver, enable the webhook, and retry.',
  },
  lastManagementKey: {
    because: ['Without this key, or with fewer permissions, nobody could manage the tenant any more.'],
    helps: 'Create another management key first.',
  },
  cursorTooOld: {
    because: ['The cursor is older than what the vault keeps.'],
    helps: 'Go on from `oldest`. What lies between is gone.',
  },
  idempotencyMismatch: {
    because: ['The idempotency key was used for another body, and the operator has bodies compared.'],
    helps: 'Make a new key for each thing to do, not for each session.',
  },
  rateLimited: {
    because: ['The key sends more than the operator allows it.'],
    helps: 'Wait for the seconds in `Retry-After`.',
  },
  bodyTooLarge: {
    because: [
      `The body has more than ${limits.bodyBytes.toLocaleString('en')} bytes, or what the operator set.`,
    ],
    helps: 'Send less at once: a tokenize of many values can be several.',
  },
  unsupportedMediaType: {
    because: [
      'A PATCH needs `application/merge-patch+json`, everything else `application/json`; or the body is compressed.',
    ],
    helps: 'Use the type that `detail` names.',
  },
  headersTooLarge: {
    because: ['A long list of filters in the URL, or cookies that a browser or proxy added.'],
    helps: 'Send fewer. Long queries belong into `POST /tokens/search`.',
  },
  requestTimeout: {
    because: [
      'The request did not arrive whole in time: a slow network, or a client that opened a connection and sent nothing.',
    ],
    helps: 'Send it again, a write with the same idempotency key.',
  },
  internal: {
    because: ['A fault of the vault.'],
    helps: 'Give the operator the trace id. Send a write again once, with the same idempotency key.',
  },
  destinationInvalid: {
    because: [
      'The URL is not https, names an address in place of a host, or has a port that the operator did not allow.',
      'Its path has a dot segment, two slashes, or an encoded slash: what the vault checks must be what the destination reads.',
    ],
    helps: 'Use an https address with a name. Nothing was sent.',
  },
  noDestination: {
    because: ['Neither a proxy key nor the URL of a destination is in the headers.'],
    helps: 'Send the key that the answer to `POST /proxies` showed.',
  },
  expressionInvalid: {
    because: [
      'An expression is misspelt; `errors` has its place.',
      'It cuts, encodes or hashes a token that this key may not read. Then only whole values and parts by path may be sent.',
    ],
    helps: 'Correct it, or grant `token:read` under `reveal`. Nothing was sent.',
  },
  tokenNotFound: {
    because: ['The token was deleted, has expired, or no rule holds `token:use` on all of its containers.'],
    helps: 'Ask `explain` about `token:use` on its containers. Nothing was sent.',
  },
  headerValueInvalid: {
    because: ['A value has characters that a header cannot carry, such as a line break or an umlaut.'],
    helps: 'Send it in the body.',
  },
  permissionDenied: {
    because: ['No rule of the application holds `token:use`.'],
    helps: 'Grant it on the containers of the tokens, with `destinations`.',
  },
  ephemeralProxyDisabled: {
    because: ['The request names its destination itself, and the tenant does not allow that.'],
    helps: 'Make a proxy for the destination with `POST /proxies`, and send its key.',
  },
  destinationForbidden: {
    because: [
      'The `destinations` of the rules that hold `token:use` do not cover this URL. `/v1/` covers neither `/v1` nor `/v10`.',
    ],
    helps: 'Ask `explain` with the `destination`, and add it to the rule.',
  },
  destinationUnreachable: {
    because: ['The name does not resolve, leads into a private network, or nothing listens there.'],
    helps: 'Check the name. An operator allows private networks with a setting.',
  },
  tlsFailed: {
    because: [
      'The certificate of the destination has expired, is for another name, or is signed by nobody known.',
    ],
    helps: 'Have it repaired. Nothing was sent.',
  },
  answerInvalid: {
    because: ['The answer is too long, compressed twice, or no HTTP.'],
    helps: 'Ask the destination what came of the request: it has it.',
  },
  responseTransformFailed: {
    because: ['The answer does not have the form that the transforms of the proxy expect.'],
    helps: 'Compare the transforms with what the destination answers. It has the request.',
  },
  proxyBusy: {
    because: [
      'More requests to destinations are under way than the vault allows at once, often because a destination hangs.',
    ],
    helps: 'Send it again after `Retry-After`: nothing was sent.',
  },
  destinationTimeout: {
    because: ['The destination did not answer in time. `sent` says whether it got the request.'],
    helps: 'If `sent` is true, ask the destination before you send it again: it may have charged.',
  },
  overloaded: {
    because: [
      'You, or all together, ask for more than the machine has. What waits longest behind itself is turned away first.',
    ],
    helps: 'Wait for `Retry-After`, and send fewer at once. Nothing was done.',
  },
  unavailable: {
    because: ['Storage or the key provider does not answer, or the disk is full.'],
    helps: 'Send it again after `Retry-After`, a write with the same idempotency key: it may have happened.',
  },
}

/** The codes in the order of their statuses. */
const codes = (Object.keys(catalogue) as ErrorCode[]).toSorted(
  (a, b) => catalogue[a].status - catalogue[b].status,
)

export const errorsPage = (_: Links): PageContent => ({
  body: [
    html`<p>A refusal is <code>application/problem+json</code>. It has a <code>code</code> for programs, a <code>detail</code> for people, and never a value that you sent. A 400 says place by place what is wrong:</p>
${pre('json', JSON.stringify(example, null, 2))}
<p>With the <code>trace_id</code> the operator finds the request in the log. It is also in the header of every answer.</p>`,
    codes.map(errorSection),
  ],
  entries: codes.map(key => ({ id: wireCode(key), title: `${catalogue[key].status} ${wireCode(key)}` })),
})

const example = {
  type: 'about:blank',
  title: catalogue.invalidRequest.title,
  status: 400,
  code: wireCode('invalidRequest'),
  detail: catalogue.invalidRequest.detail,
  trace_id: '019c9f1e-6a04-7000-8000-0d6b3c5f7a44',
  errors: { 'data.number': ['must pass the Luhn check'] },
}

const errorSection = (key: ErrorCode): Html => {
  const { status, title, detail, isTransient }: CatalogueEntry = catalogue[key]
  const { because, helps } = refusals[key]
  return html`<section id="${wireCode(key)}"><h2><code>${wireCode(key)}</code> <small>${status} ${title}</small></h2>
<p>${detail}${isTransient && html` <span class="tag">comes with <code>Retry-After</code></span>`}</p>
<ul>${because.map(reason => html`<li>${withCode(reason)}</li>`)}</ul>
<p><strong>What helps:</strong> ${withCode(helps)}</p></section>
`
}

const withCode = (text: string): Part =>
  text.split('\u0060').map((part, at) => (at % 2 === 1 ? code(part) : part))

/** What a search for an error should find it by. */
export const refusalWords = (): { id: string; title: string; text: string }[] =>
  codes.map(key => ({
    id: wireCode(key),
    title: `${wireCode(key)} (${catalogue[key].status})`,
    text: [catalogue[key].detail, ...refusals[key].because, refusals[key].helps].join(' '),
  }))
