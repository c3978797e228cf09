import assert from 'node:assert/strict'
import type { StarterKeys } from '../../src/cli/starter-applications.ts'
import { type Certificate, certificate } from '../rig/certificates.ts'
import { Destination } from '../rig/destination.ts'
import { DnsServer } from '../rig/dns-server.ts'
import { outboundFlags } from '../rig/outbound-flags.ts'
import { type Cluster, startCluster } from '../rig/postgres-cluster.ts'
import { call, type Program, Site } from '../rig/program.ts'

export type EngineName = 'sqlite' | 'postgres'
export type Keys = Omit<StarterKeys, 'base_url'>
export type Server = Program & { readonly url: string }

/** What a scenario does with a scene. It returns what is wrong. */
export type Scenario = {
  readonly name: string
  readonly engines: readonly EngineName[]
  readonly happen: (scene: Scene, say: (line: string) => void) => Promise<readonly string[]>
}

/** Real servers of a vault, and those of others that they call: behind real names, with real certificates. */
export class Scene {
  readonly engine: EngineName
  readonly dns: DnsServer
  readonly #site = new Site()
  readonly #ca: Certificate = certificate('Scene CA')
  readonly #caFile: string
  readonly #cluster: Cluster | undefined
  readonly #destinations: Destination[] = []
  readonly #ports: number[] = []

  private constructor(engine: EngineName, dns: DnsServer, cluster: Cluster | undefined) {
    this.engine = engine
    this.dns = dns
    this.#cluster = cluster
    this.#caFile = this.#site.file('ca.pem', this.#ca.cert)
  }

  static async open(engine: EngineName): Promise<Scene> {
    const isServer = engine === 'postgres'
    const cluster = isServer
      ? await startCluster({ fsync: 'on', full_page_writes: 'on', shared_buffers: '128MB', autovacuum: 'on' })
      : undefined
    return new Scene(engine, await DnsServer.start(), cluster)
  }

  /** Before the first server is started, which is told whom it may call. */
  async destination(host: string): Promise<Destination> {
    const destination = await Destination.start(certificate(host, this.#ca))
    this.#destinations.push(destination)
    this.reachable(host, destination.port)
    return destination
  }

  /** The name leads to this port of this machine. */
  reachable(host: string, port: number): void {
    this.dns.set(host, { a: ['127.0.0.1'] })
    this.#ports.push(port)
  }

  serve(...flags: readonly string[]): Promise<Server> {
    const allow = this.#ports.map(port => ({ network: '127.0.0.1', port }))
    const calls = { allow, ports: this.#ports, dns: [this.dns.address] }
    const args = [...outboundFlags(calls, this.#caFile), ...flags]
    return this.#site.serve(args, { ...proxiesToNowhere, ...this.#storage })
  }

  async tenant(name: string): Promise<Keys> {
    const vault = this.#cluster === undefined ? this.#site.vault : this.#site.keys
    const { code, stdout, stderr } = await this.#site.run(
      ['tenant', 'create', '--name', name, '--json', ...vault],
      this.#storage,
    )
    assert.equal(code, 0, stderr)
    return JSON.parse(stdout)
  }

  /** Must succeed. */
  // biome-ignore lint/suspicious/noExplicitAny: scenarios look into answers freely
  async ask(url: string, method: string, path: string, key: string, body?: unknown): Promise<any> {
    const reply = await call(url, method, path, key, body)
    assert.ok(reply.status < 300, `${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`)
    return reply.body
  }

  /** The key of an application that may use tokens, in a tenant that lets requests name their destination. */
  async caller(url: string, { management_api_key }: Keys): Promise<string> {
    const tenant = await this.ask(url, 'GET', '/tenants/self', management_api_key)
    const settings = { ...tenant.settings, disable_ephemeral_proxy: 'false' }
    await this.ask(url, 'PUT', '/tenants/self', management_api_key, { name: tenant.name, settings })
    const application = { name: 'caller', type: 'private', permissions: ['token:use'] }
    return (await this.ask(url, 'POST', '/applications', management_api_key, application)).key
  }

  file(name: string, content: string): string {
    return this.#site.file(name, content)
  }

  certificate(name: string): Certificate {
    return certificate(name, this.#ca)
  }

  async close(): Promise<void> {
    await this.#site.remove()
    for (const destination of this.#destinations) destination.stop()
    this.dns.stop()
    await this.#cluster?.stop()
  }

  get #storage(): Record<string, string> {
    return this.#cluster === undefined ? {} : { STRONGROOM_DATABASE_URL: this.#cluster.url }
  }
}

const nowhere = 'http://127.0.0.1:9'
/** A server that obeyed would reach nobody. */
const proxiesToNowhere = {
  NODE_USE_ENV_PROXY: '1',
  HTTPS_PROXY: nowhere,
  https_proxy: nowhere,
  ALL_PROXY: nowhere,
}
