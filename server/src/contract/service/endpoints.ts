import { declareEndpoints } from '../endpoint.ts'
import { documentationPage } from '../path-parameters.ts'
import { anyJson } from '../schema.ts'
import { Type } from '../type.ts'

export const serviceEndpoints = declareEndpoints({
  health: {
    summary: 'Is the process up?',
    tag: 'Service',
    method: 'GET',
    path: '/health',
    permission: 'open',
    logs: 'no act',
    isProbe: true,
    reply: Type.Object({ status: Type.Literal('up') }),
    status: 200,
  },

  ready: {
    summary: 'Do storage and the key service answer?',
    tag: 'Service',
    method: 'GET',
    path: '/ready',
    permission: 'open',
    logs: 'no act',
    isProbe: true,
    reply: Type.Object({
      status: Type.Literal('ready'),
      anchors: Type.Optional(
        Type.Unsafe<'failing' | 'stopped'>({
          type: 'string',
          examples: [],
          enum: ['failing', 'stopped'],
          description:
            "The log's checkpoints do not reach an anchor: it cannot be written (failing), or it holds what is not this vault's past (stopped).",
        }),
      ),
    }),
    status: 200,
    problems: ['unavailable'],
  },

  openapi: {
    summary: 'This interface as an OpenAPI document',
    tag: 'Service',
    method: 'GET',
    path: '/openapi.json',
    permission: 'open',
    logs: 'no act',
    reply: anyJson(),
    replyExample: { openapi: '3.1.0', info: { title: 'Strongroom', version: '0.1.0' }, paths: {} },
    status: 200,
  },

  docs: {
    summary: 'This documentation',
    tag: 'Service',
    method: 'GET',
    path: '/docs',
    permission: 'open',
    logs: 'no act',
    reply: Type.String(),
    replyType: 'text/html',
    status: 200,
  },

  docsPage: {
    summary: 'A page of this documentation, or what it needs',
    tag: 'Service',
    method: 'GET',
    path: '/docs/:page',
    permission: 'open',
    logs: 'no act',
    params: { page: documentationPage },
    reply: Type.String(),
    replyType: 'text/html',
    furtherReplyTypes: ['text/css', 'text/javascript', 'application/json'],
    status: 200,
  },

  home: {
    summary: 'Go to the page to read',
    tag: 'Service',
    method: 'GET',
    path: '/',
    permission: 'open',
    logs: 'no act',
    reply: Type.String(),
    replyType: 'text/plain',
    status: 303,
    location: '/docs',
  },
})
