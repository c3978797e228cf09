import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { Rule } from '../../src/domain/access/application.ts'
import type { ApplicationType, Permission } from '../../src/domain/access/permissions.ts'
import type { TenantSettings } from '../../src/domain/access/tenant.ts'
import { createMasterKeyFile } from '../../src/keys/file/create-master-key-file.ts'
import { fileKeyProvider } from '../../src/keys/file/file-key-provider.ts'
import { openTenant, sealTenant } from '../../src/operations/grants/grant-rows.ts'
import { createTenant } from '../../src/operations/tenants/create-tenant.ts'
import type { Vault } from '../../src/operations/vault/vault.ts'
import { standardOutbound } from '../../src/outbound/outbound-rules.ts'
import { buildService, type Service, type ServiceSettings } from '../../src/service.ts'
import type { Store } from '../../src/store/port.ts'
import { assertAnswerRules, makeReply, type TestReply } from './answers.ts'
import { type Engine, engines } from './engines.ts'
import { httpRequest } from './http-request.ts'
import { assertInterfaceRules } from './interface-rules.ts'
import { temporaryFolder } from './temporary-folder.ts'

/** An application as a test specifies it: flat permissions, or rules. */
export type TestApplication = {
  readonly type?: ApplicationType
  readonly permissions?: readonly Permission[]
  readonly rules?: readonly Rule[]
}

/** Longer than any request of a test takes. */
export const drainTimeoutMs = 30_000

/** How services behave where a test does not say. */
export const defaultSettings: ServiceSettings = {
  headerPrefix: 'svc',
  idempotencyStrict: false,
  corsOrigins: [],
  trustedProxies: [],
  rateLimit: undefined,
  auditAnchors: [],
  auditRetentionDays: 400,
  outbound: standardOutbound,
}

/** May do everything to tokens, and see everything in them. */
export const owner: TestApplication = {
  rules: [
    {
      priority: 1,
      container: '/',
      transform: 'reveal',
      permissions: ['token:create', 'token:read', 'token:update', 'token:delete', 'token:search'],
    },
  ],
}

/** The applications of `strongroom dev` that work on tokens (C34). */
export const devApplications = {
  general: { permissions: ['token:create', 'token:update'] },
  private: {
    rules: [
      {
        priority: 1,
        container: '/',
        transform: 'reveal',
        permissions: ['token:read', 'token:delete', 'token:search'],
      },
    ],
  },
} as const satisfies Record<string, TestApplication>

export type Send = {
  readonly key?: string
  readonly body?: unknown
  /** Sent as is, instead of `body`. */
  readonly raw?: string | Uint8Array
  readonly type?: string
  readonly headers?: Record<string, string>
}

/** A real vault on a real store behind a real socket, with a clock that the test moves. */
export class TestVault {
  readonly folder: { path: string; remove: () => void }
  engine: Engine
  readonly settings: Partial<ServiceSettings>
  readonly log: string[] = []
  now: number
  store!: Store
  service!: Service
  baseUrl = ''

  private constructor(engine: Engine, now: number, settings: Partial<ServiceSettings>) {
    this.engine = engine
    this.now = now
    this.settings = settings
    this.folder = temporaryFolder()
  }

  static async start(
    options: { engine?: Engine; now?: number; settings?: Partial<ServiceSettings> } = {},
  ): Promise<TestVault> {
    const engine = options.engine ?? engines[0]
    assert.ok(engine)
    const now = options.now ?? Date.parse('2026-03-01T12:00:00Z')
    const vault = new TestVault(engine, now, options.settings ?? {})
    createMasterKeyFile(join(vault.folder.path, 'master.key'))
    await vault.#open()
    return vault
  }

  async #open(): Promise<void> {
    this.store = await this.engine.open(this.folder.path)
    const note = (level: string) => (fields: Record<string, unknown>, message: string) => {
      this.log.push(JSON.stringify({ level, message, ...fields }))
    }
    this.service = await buildService({
      store: this.store,
      keyProvider: fileKeyProvider(join(this.folder.path, 'master.key')),
      clock: () => this.now,
      log: { isDebug: true, error: note('error'), info: note('info'), debug: note('debug') },
      settings: { ...defaultSettings, ...this.settings },
    })
    const { port } = await this.service.listen({ host: '127.0.0.1', port: 0 })
    this.baseUrl = `http://127.0.0.1:${port}`
  }

  /** Stops the service and starts it again on the same folder. */
  async restart(): Promise<void> {
    await this.close()
    await this.#open()
  }

  /** After the service was closed: continues with what another engine holds for the same folder. */
  async openOn(engine: Engine): Promise<void> {
    this.engine = engine
    await this.#open()
  }

  /** Stops the service but keeps the folder. */
  close(): Promise<void> {
    return this.service.close(drainTimeoutMs)
  }

  async stop(): Promise<void> {
    // Cuts the connections that `fetch` keeps, each of which would get a moment for a last request.
    await this.service.close(0)
    this.folder.remove()
  }

  /** A new tenant with these applications; returns one API key per name. */
  async tenant<Name extends string>(
    applications: Record<Name, TestApplication>,
    settings: Partial<TenantSettings> = {},
  ): Promise<{ tenantId: string; keys: Record<Name, string> }> {
    return createTenant(bornWith(this.service.vault, settings), {
      name: 'Test',
      applications: Object.entries<TestApplication>(applications).map(([key, application]) => ({
        key: key as Name,
        name: key,
        type: application.type ?? 'private',
        permissions: application.permissions ?? [],
        rules: application.rules ?? [],
      })),
    })
  }

  /** The number that stands for the tenant inside storage. */
  async tenantNumber(tenantId: string): Promise<number> {
    const row = (await this.store.listTenants()).find(({ id }) => id === tenantId)
    assert.ok(row)
    return row.tenant
  }

  async send(method: string, path: string, { key, body, raw, type, headers }: Send = {}): Promise<TestReply> {
    const hasBody = body !== undefined || raw !== undefined
    const reply = await httpRequest(this.baseUrl + path, {
      method,
      headers: {
        ...(key !== undefined && { 'svc-api-key': key }),
        ...(hasBody && {
          'content-type': type ?? (method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'),
        }),
        ...headers,
      },
      ...(hasBody && { body: raw ?? JSON.stringify(body) }),
    })
    const answer = makeReply(reply.status, reply.headers, reply.text)
    assertAnswerRules(answer, method)
    assertInterfaceRules(answer, method, path)
    return answer
  }

  /** Creates a token and takes its success for granted. */
  async create(key: string, body: unknown): Promise<TestReply['body']> {
    const reply = await this.post('/tokens', key, body)
    assert.equal(reply.status, 201, reply.text)
    return reply.body
  }
  get(path: string, key: string): Promise<TestReply> {
    return this.send('GET', path, { key })
  }
  post(path: string, key: string, body: unknown): Promise<TestReply> {
    return this.send('POST', path, { key, body })
  }
  patch(path: string, key: string, body: unknown): Promise<TestReply> {
    return this.send('PATCH', path, { key, body })
  }
  delete(path: string, key: string): Promise<TestReply> {
    return this.send('DELETE', path, { key })
  }
}

/** The vault, except that the next tenant is created with these settings instead of the defaults for new tenants (C31). */
const bornWith = (vault: Vault, settings: Partial<TenantSettings>): Vault => ({
  ...vault,
  store: {
    ...vault.store,
    createTenant: (wish, log) => {
      const row = { tenant: 0, revision: 1, ...wish }
      const tenant = openTenant(vault.vaultKeys, row)
      const sealed = sealTenant(vault.vaultKeys, {
        ...tenant,
        settings: { ...tenant.settings, ...settings },
      })
      return vault.store.createTenant({ ...wish, sealed }, log)
    },
  },
})
