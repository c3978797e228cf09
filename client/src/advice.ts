import type { Problem } from './generated/types.ts'

const wait = 'Try again later.'
const repeat = 'Try again later, with the same idempotency key.'
const correct = 'Correct the request.'

/** What to do, by code: a new code of the vault must have its line here. */
export const advice: Readonly<Record<Problem['code'], string>> = {
  invalid_request: 'Correct what errors names.',
  invalid_http: correct,
  unauthorized: 'Use a key that is neither revoked nor expired.',
  forbidden: 'Use a key of an application that may do this, or grant it.',
  not_found: 'Check the id, and what the key may see.',
  no_such_route: 'Check baseUrl, and that the vault is of this release.',
  method_not_allowed: 'Check baseUrl, and that the vault is of this release.',
  id_taken: 'Use another id.',
  write_contention: repeat,
  request_in_flight: repeat,
  delivery_in_flight: 'Wait for what comes of it.',
  webhook_disabled: 'Enable the webhook.',
  last_management_key: 'Create another management key first.',
  cursor_too_old: 'Start again from oldest.',
  idempotency_mismatch: 'Use a new idempotency key for another body.',
  rate_limited: wait,
  body_too_large: 'Send less at once.',
  unsupported_media_type: correct,
  headers_too_large: 'Send a shorter URL and fewer headers.',
  request_timeout: repeat,
  internal: 'Give the operator the trace id. Repeated, a write needs the same idempotency key.',
  overloaded: wait,
  unavailable: repeat,
  destination_invalid: correct,
  no_destination: 'Name a proxy by its key, or a URL.',
  expression_invalid: 'Correct what errors names.',
  token_not_found: 'Check the ids, and what the key may use.',
  header_value_invalid: 'Put the value into the body.',
  permission_denied: 'Grant token:use to the application.',
  ephemeral_proxy_disabled: 'Set up a proxy, and name it by its key.',
  destination_forbidden: "Check the destinations of the application's rules.",
  destination_unreachable: 'See whether sent is true: then find out at the destination what it did.',
  tls_failed: "Check the destination's certificate and its name.",
  answer_invalid: 'Find out at the destination what it did before you send it again.',
  response_transform_failed: 'Find out at the destination what it did, and correct the transforms.',
  proxy_busy: wait,
  destination_timeout: 'See whether sent is true: then find out at the destination what it did.',
}
