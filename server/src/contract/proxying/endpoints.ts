import { declareEndpoints } from '../endpoint.ts'

export const proxyingEndpoints = declareEndpoints({
  invokeProxy: {
    summary: 'Send a request on to a destination, with the values of tokens in place of expressions',
    tag: 'Proxies',
    method: 'POST',
    path: '/proxy',
    passesThrough: true,
    permission: 'any key',
    logs: { entityType: 'proxy' },
    status: 200,
    problems: [
      'destinationInvalid',
      'noDestination',
      'expressionInvalid',
      'tokenNotFound',
      'headerValueInvalid',
      'permissionDenied',
      'ephemeralProxyDisabled',
      'destinationForbidden',
      'notFound',
      'bodyTooLarge',
      'unsupportedMediaType',
      'destinationUnreachable',
      'tlsFailed',
      'answerInvalid',
      'responseTransformFailed',
      'proxyBusy',
      'destinationTimeout',
    ],
  },
})
