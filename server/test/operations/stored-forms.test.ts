import assert from 'node:assert/strict'
import type { KeyObject } from 'node:crypto'
import { describe, test } from 'node:test'
import { open, type SealContext, seal } from '../../src/crypto/aead.ts'
import { indexHash } from '../../src/crypto/keyed-hashes.ts'
import type { ApiKeyGrant, Application } from '../../src/domain/access/application.ts'
import type { Tenant } from '../../src/domain/access/tenant.ts'
import { Secret } from '../../src/domain/secret.ts'
import type { Token } from '../../src/domain/tokens/token.ts'
import { tokenType } from '../../src/domain/tokens/types/registry.ts'
import {
  openApiKey,
  openApplication,
  openTenant,
  sealApiKey,
  sealApplication,
  sealTenant,
} from '../../src/operations/grants/grant-rows.ts'
import { hashFingerprint } from '../../src/operations/tokens/hash-terms.ts'
import { categoryOf, tokenTerms } from '../../src/operations/tokens/index-entries.ts'
import { openTokenRow, sealTokenRow, sealTransientRow } from '../../src/operations/tokens/token-rows.ts'
import { newTenantKeys, newVaultKeys } from '../crypto/test-keys.ts'

// What is written here lies in every vault. A change of a type, a name or a context that breaks one of these tests
// would leave stored rows unread: it needs a reader of the old form, and a row here for the new one.

const vaultKeys = newVaultKeys()
const keys = newTenantKeys({ tenantId: 'tenant-1' })
const dataKey = keys.data.get(1) as KeyObject

const tenant: Tenant = {
  id: 'tenant-1',
  ownerId: 'owner-1',
  name: 'Acme',
  settings: { fingerprintTokens: true, deduplicateTokens: false },
  includedMonthlyActiveTokens: 7,
  createdBy: 'app-1',
  createdAt: 1,
  modifiedBy: 'app-2',
  modifiedAt: 2,
}

const application: Application = {
  id: 'app-1',
  tenantId: 'tenant-1',
  name: 'Desk',
  type: 'private',
  permissions: ['token:read'],
  rules: [
    { description: 'd', priority: 1, container: '/a/', transform: 'mask', permissions: ['token:search'] },
  ],
  createdBy: 'app-0',
  createdAt: 1,
}

const apiKey: ApiKeyGrant = { createdBy: 'app-0', createdAt: 1, expiry: { at: 9, offsetMinutes: 120 } }
const apiKeyRow = {
  id: 'key-1',
  applicationId: 'app-1',
  hash: Buffer.from([1, 2]),
  expiresAt: 9,
  tenant: 4,
  lastUsedAt: null,
}

const type = tokenType('card') ?? assert.fail()
const token: Token = {
  id: 'token-1',
  tenantId: 'tenant-1',
  type,
  version: 3,
  data: new Secret({ number: '4242424242424242' }),
  transients: [{ field: 'cvc', value: new Secret('123'), expiresAt: 8 }],
  mask: { from: 'caller', template: '{{ data.number | last4 }}' },
  containers: ['/a/'],
  metadata: { k: 'v' },
  searchIndexes: ['{{ data.number }}', '{{ data.none }}'],
  indexTerms: [indexHash(keys, 'data', '4242424242424242').toString('base64'), null],
  fingerprintExpression: '{{ data.number }}',
  fingerprint: 'f',
  deduplicate: true,
  expiry: { at: 9, offsetMinutes: 120 },
  blind: { mask: true, maskWithheld: true, fingerprint: true },
  activeMonth: 202611,
  createdBy: 'app-1',
  createdAt: 1,
  modifiedBy: 'app-2',
  modifiedAt: 2,
}
const tokenRow = sealTokenRow(token, keys)
const transientRows = token.transients.map(transient => sealTransientRow(token, transient, keys))
const transientRow = transientRows[0] ?? assert.fail()

/** A comparison does not look into secrets. */
const inTheClear = ({ data, transients, ...rest }: Token) => ({
  ...rest,
  data: data.expose('a test'),
  transients: transients.map(({ value, ...more }) => ({ ...more, value: value.expose('a test') })),
})

/** The bytes that the vault writes, what they are bound to, what they hold, and how the vault reads them. */
const forms: Record<
  string,
  {
    key: KeyObject
    sealed: Uint8Array
    context: SealContext
    text: string
    read: (sealed: Uint8Array) => unknown
    is: unknown
  }
> = {
  'a tenant': {
    key: vaultKeys.grants,
    sealed: sealTenant(vaultKeys, tenant),
    context: ['grant', 'tenant', 'tenant-1'],
    text: '{"id":"tenant-1","ownerId":"owner-1","name":"Acme","settings":{"fingerprintTokens":true,"deduplicateTokens":false},"includedMonthlyActiveTokens":7,"createdBy":"app-1","createdAt":1,"modifiedBy":"app-2","modifiedAt":2}',
    read: sealed => openTenant(vaultKeys, { tenant: 4, id: 'tenant-1', revision: 1, sealed }),
    is: tenant,
  },
  'an application': {
    key: vaultKeys.grants,
    sealed: sealApplication(vaultKeys, application),
    context: ['grant', 'application', 'app-1', 'tenant-1'],
    text: '{"id":"app-1","tenantId":"tenant-1","name":"Desk","type":"private","permissions":["token:read"],"rules":[{"description":"d","priority":1,"container":"/a/","transform":"mask","permissions":["token:search"]}],"createdBy":"app-0","createdAt":1}',
    read: sealed => openApplication(vaultKeys, { tenant: 4, id: 'app-1', sealed }, 'tenant-1'),
    is: application,
  },
  'an API key': {
    key: vaultKeys.grants,
    sealed: sealApiKey(vaultKeys, apiKeyRow, 'tenant-1', apiKey),
    context: ['grant', 'api-key', 'key-1', 'tenant-1', 'app-1', '0102', 9],
    text: '{"createdBy":"app-0","createdAt":1,"expiry":{"at":9,"offsetMinutes":120}}',
    read: sealed => openApiKey(vaultKeys, { ...apiKeyRow, sealed }, 'tenant-1'),
    is: apiKey,
  },
  'a token': {
    key: dataKey,
    sealed: tokenRow.sealed,
    context: ['token', 'tenant-1', 'token-1', 'card', 3, 9, 'app-1', 1, 'app-2', 2],
    text: `{"d":{"number":"4242424242424242"},"m":"{{ data.number | last4 }}","c":["/a/"],"md":{"k":"v"},"si":["{{ data.number }}","{{ data.none }}"],"it":["${token.indexTerms[0]}",null],"fe":"{{ data.number }}","fp":"f","dd":true,"xo":120,"b":{"mask":true,"maskWithheld":true,"fingerprint":true}}`,
    read: sealed => inTheClear(openTokenRow({ ...tokenRow, sealed }, transientRows, keys)),
    is: inTheClear(token),
  },
  'a transient field': {
    key: dataKey,
    sealed: transientRow.sealed,
    context: ['transient', 'tenant-1', 'token-1', 'card', 'app-1', 1, 'cvc', 8],
    text: '"123"',
    read: sealed => inTheClear(openTokenRow(tokenRow, [{ ...transientRow, sealed }], keys)),
    is: inTheClear(token),
  },
}

describe('what every vault stores sealed', () => {
  for (const [name, { key, sealed, context, text, read, is }] of Object.entries(forms)) {
    test(`${name} is written in its fixed form (ARCHITECTURE.md data at rest)`, () =>
      assert.equal(open(key, sealed, context)?.toString(), text))

    test(`${name} is read from its fixed form (ARCHITECTURE.md data at rest)`, () =>
      assert.deepEqual(read(seal(key, 1, text, context)), is))
  }
})

const counterOf = (container: string): string =>
  `container:${indexHash(keys, 'container', container).toString('hex')}`

/** What the index and the counters have of a token: fields and values before they are hashed, and names. */
const entries: Record<
  string,
  {
    of: Token
    terms: readonly (readonly [field: string, value: string])[]
    tag: string | undefined
    counters: readonly string[]
  }
> = {
  'a token at home': {
    of: { ...token, containers: [type.container], blind: {} },
    terms: [
      ['home', 'card'],
      ['metadata.k', 'v'],
      ['data', '4242424242424242'],
    ],
    tag: '["{{ data.number }}",["/pci/high/"]]',
    counters: ['type:card', counterOf('/pci/'), counterOf('/pci/high/')],
  },
  'a token in other containers': {
    of: { ...token, containers: ['/c/', '/a/b/'], blind: {} },
    terms: [
      ['direct', '/c/'],
      ['below', '/a/'],
      ['direct', '/a/b/'],
      ['type', 'card'],
      ['metadata.k', 'v'],
      ['data', '4242424242424242'],
    ],
    tag: '["{{ data.number }}",["/a/b/","/c/"]]',
    counters: ['type:card', counterOf('/c/'), counterOf('/a/'), counterOf('/a/b/'), 'several-containers'],
  },
  'a blind token': {
    of: { ...token, containers: [type.container] },
    terms: [
      ['home', 'card'],
      ['metadata.k', 'v'],
      ['data', '4242424242424242'],
    ],
    tag: undefined,
    counters: ['type:card', counterOf('/pci/'), counterOf('/pci/high/')],
  },
}

describe('what every vault stores hashed', () => {
  for (const [name, { of, terms, tag, counters }] of Object.entries(entries))
    test(`${name} is found and counted by fixed names (ARCHITECTURE.md data at rest)`, () => {
      assert.deepEqual(tokenTerms({ tenantNumber: 4, keys }, of), [
        ...terms.map(([field, value]) => ({ term: indexHash(keys, field, value), tag: null })),
        hashFingerprint({ keys }, 'f', tag),
      ])
      const { typeCounter, containerCounters } = categoryOf(keys, of)
      assert.deepEqual([typeCounter, ...containerCounters], counters)
    })
})
