import type { PathParameter } from './endpoint.ts'
import { Type } from './type.ts'

// The parameters of paths: ids, and the names of pages.

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

export const eventId: PathParameter = {
  schema: Type.String(),
  description: 'The id of the event.',
  example: 'evt_01a1f4f2-ca77-7678-854e-907200000002',
}

export const proxyId: PathParameter = {
  schema: Type.String({ format: 'uuid' }),
  description: 'The id of the proxy, which is not its key.',
  example: '019c9f1e-6a02-7000-8000-5b0c7f1d2e33',
}

export const keyId: PathParameter = {
  schema: Type.String({ format: 'uuid' }),
  description: 'The id of the key, which is not its text.',
  example: '019c9f1e-6a01-7000-8000-a4d1e87b9c22',
}

export const webhookId: PathParameter = {
  schema: Type.String({ format: 'uuid' }),
  description: 'The id of the webhook.',
  example: '019c9f1e-6a03-7000-8000-5b1d2f7e9c33',
}

export const deliveryId: PathParameter = {
  schema: Type.String(),
  description: 'The id of a failed delivery.',
  example: 'dlv_01a1f4f2-ca77-7678-854e-907200000002',
}

export const documentationPage: PathParameter = {
  schema: Type.String(),
  description: 'The name of the page, as links of the documentation have it.',
  example: 'errors',
}
