import { Type } from 'typebox'
import { limits } from '../domain/limits.ts'
import { endpoint } from './endpoint.ts'
import { anyJson } from './schema.ts'
import { CreateToken, Token, TokenPage, UpdateToken } from './token-schemas.ts'

/** Everything that the vault answers to. */
export const endpoints = {
  tokenize: endpoint({
    id: 'tokenize',
    summary: 'Turn every value of a payload into a token, all or nothing',
    method: 'POST',
    path: '/tokenize',
    permission: 'token:create',
    bodyType: 'application/json',
    body: anyJson({ description: 'Strings, numbers, booleans and token definitions become tokens.' }),
    reply: anyJson({ description: 'The same structure with ids and token objects in place of the values.' }),
    status: 200,
  }),

  createToken: endpoint({
    id: 'createToken',
    summary: 'Create a token',
    method: 'POST',
    path: '/tokens',
    permission: 'token:create',
    bodyType: 'application/json',
    body: CreateToken,
    nullIsAbsentExcept: ['data'],
    reply: Token,
    status: 201,
  }),

  listTokens: endpoint({
    id: 'listTokens',
    summary: 'List tokens, newest first',
    method: 'GET',
    path: '/tokens',
    permission: 'token:read',
    query: [
      { name: 'id', schema: Type.String(), description: 'Ids to return.', repeatable: true },
      { name: 'type', schema: Type.String(), description: 'Types to return.', repeatable: true },
      {
        name: 'container',
        schema: Type.String(),
        description: 'A container path; those below it count too.',
      },
      { name: 'fingerprint', schema: Type.String(), description: 'The fingerprint to look for.' },
      { name: 'metadata.{key}', schema: Type.String(), description: 'The value of one metadata key.' },
      {
        name: 'metadata',
        schema: Type.String(),
        description: 'Metadata keys and values as one JSON object.',
      },
      { name: 'page', schema: Type.Integer({ minimum: 1, default: 1 }), description: 'Which page, from 1.' },
      {
        name: 'size',
        schema: Type.Integer({ minimum: 1, maximum: limits.pageSizeMax, default: limits.pageSizeDefault }),
        description: 'Tokens per page.',
      },
    ],
    reply: TokenPage,
    status: 200,
  }),

  getToken: endpoint({
    id: 'getToken',
    summary: 'Read a token',
    method: 'GET',
    path: '/tokens/:id',
    permission: 'token:read',
    reply: Token,
    status: 200,
  }),

  updateToken: endpoint({
    id: 'updateToken',
    summary: 'Change parts of a token',
    method: 'PATCH',
    path: '/tokens/:id',
    permission: 'token:update',
    bodyType: 'application/merge-patch+json',
    body: UpdateToken,
    reply: Token,
    status: 200,
  }),

  deleteToken: endpoint({
    id: 'deleteToken',
    summary: 'Delete a token',
    method: 'DELETE',
    path: '/tokens/:id',
    permission: 'token:delete',
    status: 204,
  }),

  health: endpoint({
    id: 'health',
    summary: 'Is the process up?',
    method: 'GET',
    path: '/health',
    permission: 'open',
    reply: Type.Object({ status: Type.Literal('up') }),
    status: 200,
  }),

  ready: endpoint({
    id: 'ready',
    summary: 'Do storage and the key service answer?',
    method: 'GET',
    path: '/ready',
    permission: 'open',
    reply: Type.Object({ status: Type.Literal('ready') }),
    status: 200,
  }),

  openapi: endpoint({
    id: 'openapi',
    summary: 'This interface as an OpenAPI document',
    method: 'GET',
    path: '/openapi.json',
    permission: 'open',
    reply: anyJson(),
    status: 200,
  }),

  docs: endpoint({
    id: 'docs',
    summary: 'This interface as a page to read',
    method: 'GET',
    path: '/docs',
    permission: 'open',
    status: 200,
  }),
}

export type EndpointId = keyof typeof endpoints
