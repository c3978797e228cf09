import { declareEndpoints } from '../endpoint.ts'
import { tokenId } from '../path-parameters.ts'
import { anyJson } from '../schema.ts'
import { detokenizeParameters } from './detokenize-query.ts'

export const useEndpoints = declareEndpoints({
  detokenize: {
    summary: 'Put the values of tokens into a payload',
    tag: 'Tokens',
    method: 'POST',
    path: '/detokenize',
    permission: 'token:read',
    logs: { entityType: 'token' },
    isPage: true,
    query: detokenizeParameters,
    body: anyJson({
      description:
        'Expressions in string values stand for tokens: `{{ id }}` for the data of one, `{{ token: id }}` for the token as an object, with filters behind either. All else stays as it is.',
    }),
    examples: {
      receipt: {
        to: `{{ ${tokenId.example} }}`,
        greeting: `Dear {{ ${tokenId.example} | upcase }}`,
        amount: 1.5,
      },
    },
    reply: anyJson({
      description:
        "The same payload with values in place of the expressions, each under the caller's transform.",
    }),
    replyExample: { to: 'ada@example.com', greeting: 'Dear ADA@EXAMPLE.COM', amount: 1.5 },
    status: 200,
    countsMissing: true,
  },
})
