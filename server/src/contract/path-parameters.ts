import type { PathParameter } from './endpoint.ts'
import { Type } from './type.ts'

// The parameters of paths, all of which are ids.

export const tokenId: PathParameter = {
  schema: Type.String(),
  description: 'The id of the token, percent-encoded.',
  example: 'customer-8-email',
}

export const applicationId: PathParameter = {
  schema: Type.String({ format: 'uuid' }),
  description: 'The id of the application.',
  example: '019c9f1e-6a00-7000-8000-3f2b6d0c5a11',
}

export const keyId: PathParameter = {
  schema: Type.String({ format: 'uuid' }),
  description: 'The id of the key, which is not its text.',
  example: '019c9f1e-6a01-7000-8000-a4d1e87b9c22',
}
