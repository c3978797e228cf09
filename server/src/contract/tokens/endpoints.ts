import { declareEndpoints } from '../endpoint.ts'
import { tokenId } from '../path-parameters.ts'
import { anyJson } from '../schema.ts'
import { CreateToken, Token, typeExamples, UpdateToken } from './schemas.ts'

export const tokenEndpoints = declareEndpoints({
  tokenize: {
    summary: 'Turn every value of a payload into a token, all or nothing',
    tag: 'Tokens',
    method: 'POST',
    path: '/tokenize',
    permission: 'token:create',
    logs: { entityType: 'token' },
    changes: true,
    body: anyJson({
      description:
        'Strings, numbers and booleans become tokens, and so does an object with type and data: it is read as a CreateToken. Other objects and arrays are walked; null stays null.',
    }),
    examples: {
      record: {
        name: 'Ada Lovelace',
        emails: [
          'ada@example.com',
          { type: 'token', data: 'lovelace@example.com', metadata: { customer: '8' } },
        ],
      },
    },
    reply: anyJson({
      description:
        'The same structure: ids in place of strings, numbers and booleans, Tokens in place of objects with type and data.',
    }),
    replyExample: {
      name: '019c9f1e-6a03-7000-8000-7c1d2e3f4a55',
      emails: [
        '019c9f1e-6a03-7000-8000-7c1d2e3f4a56',
        {
          id: '019c9f1e-6a03-7000-8000-7c1d2e3f4a57',
          type: 'token',
          tenant_id: '019c9f1e-6a00-7000-8000-0d2b6d0c5a10',
          metadata: { customer: '8' },
          containers: ['/general/high/'],
          created_by: '019c9f1e-6a00-7000-8000-3f2b6d0c5a11',
          created_at: '2026-03-01T12:00:00.000+00:00',
        },
      ],
    },
    status: 200,
    problems: ['idTaken'],
  },

  createToken: {
    summary: 'Create a token',
    tag: 'Tokens',
    method: 'POST',
    path: '/tokens',
    permission: 'token:create',
    logs: { entityType: 'token', isAboutOne: true },
    changes: true,
    body: CreateToken,
    nullIsAbsentExcept: ['data'],
    foreignFields: ['token_intent_id', 'privacy', 'encrypted', 'encryption'],
    examples: {
      email: {
        id: tokenId.example,
        type: 'token',
        data: 'ada@example.com',
        mask: '{{ data | reveal_last: 4 }}',
        metadata: { customer: '8' },
        search_indexes: ['{{ data }}'],
      },
      ...typeExamples,
    },
    reply: Token,
    status: 201,
    location: '/tokens/:id',
    problems: ['idTaken'],
  },

  getToken: {
    summary: 'Read a token',
    tag: 'Tokens',
    method: 'GET',
    path: '/tokens/:id',
    permission: 'token:read',
    logs: { entityType: 'token', isAboutOne: true },
    params: { id: tokenId },
    reply: Token,
    status: 200,
  },

  updateToken: {
    summary: 'Change parts of a token',
    tag: 'Tokens',
    method: 'PATCH',
    path: '/tokens/:id',
    permission: 'token:update',
    logs: { entityType: 'token', isAboutOne: true },
    params: { id: tokenId },
    changes: true,
    bodyType: 'application/merge-patch+json',
    body: UpdateToken,
    foreignFields: ['token_intent_id', 'privacy', 'encrypted', 'encryption'],
    fixedFields: ['id', 'type', 'tenant_id'],
    examples: { metadata: { metadata: { verified: 'yes' } } },
    reply: Token,
    status: 200,
  },

  deleteToken: {
    summary: 'Delete a token',
    tag: 'Tokens',
    method: 'DELETE',
    path: '/tokens/:id',
    permission: 'token:delete',
    logs: { entityType: 'token', isAboutOne: true },
    changes: true,
    params: { id: tokenId },
    status: 204,
  },
})
