import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { Vault } from '../../../client/src/main.ts'
import { exampleRequests } from '../../src/contract/example-requests.ts'
import { openApi } from '../../src/contract/openapi.ts'
import {
  applicationId,
  deliveryId,
  eventId,
  keyId,
  proxyId,
  webhookId,
} from '../../src/contract/path-parameters.ts'
import { newUuid } from '../../src/crypto/uuid.ts'
import { codeSamples, type SampleLanguage } from '../../src/http/docs/code-samples.ts'
import { granted } from '../rig/answers.ts'
import { ownerAndManager } from '../rig/applications.ts'
import { onOneEngine } from '../rig/every-engine.ts'
import { inShortRun } from '../rig/long-run.ts'
import { putFailedDelivery, putWebhook, unreachable } from '../rig/put-webhook.ts'
import { webhookFor } from '../rig/receivers.ts'
import type { TestVault } from '../rig/test-vault.ts'

const run = promisify(execFile)
const document = openApi('svc')
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).flatMap(([method, operation]) => {
    const [request] = exampleRequests(path, method, operation)
    // A request through a proxy needs its destination: the client's own examples send one.
    if (request === undefined || operation.operationId.startsWith('invokeProxy')) return []
    const keyHeader = operation['x-permission'] && document.components.securitySchemes.apiKey.name
    const status = Number(Object.keys(operation.responses)[0])
    return [{ id: operation.operationId, tag: operation.tags[0], request, keyHeader, status }]
  }),
)
const bodyOf = (id: string): unknown => operations.find(one => one.id === id)?.request.body

type Sample = { id: string; text: string; key: string; status: number }

type Furnished = {
  readonly owner: string
  readonly manager: string
  readonly ids: readonly (readonly [string, string])[]
}

/** A tenant that has all that the examples refer to. */
const furnish = async (vault: TestVault, withToken: boolean): Promise<Furnished> => {
  const { tenantId, keys } = await vault.tenant(ownerAndManager)
  if (withToken) granted(await vault.post('/tokens', keys.owner, bodyOf('createToken')))
  const application = granted(await vault.post('/applications', keys.manager, bodyOf('createApplication')))
  const key = granted(await vault.post(`/applications/${application.id}/keys`, keys.manager, {}))
  const proxy = granted(await vault.post('/proxies', keys.manager, bodyOf('createProxy')))
  const webhook = newUuid()
  await putWebhook(vault, tenantId, webhookFor(unreachable, webhook))
  const [event] = granted(await vault.get('/events', keys.manager)).data
  const delivery = await putFailedDelivery(vault, tenantId, webhook)
  const ids = [
    [applicationId.example, application.id],
    [keyId.example, key.id],
    [eventId.example, event.id],
    [proxyId.example, proxy.id],
    [webhookId.example, webhook],
    [deliveryId.example, delivery],
  ] as const
  return { owner: keys.owner, manager: keys.manager, ids }
}

/** What the page shows, with ids and a key. Requests that change something get a tenant of their own. */
const samplesIn = async (vault: TestVault, language: SampleLanguage): Promise<Sample[]> => {
  const shared = await furnish(vault, true)
  const samples: Sample[] = []
  for (const { id, tag, request, keyHeader, status } of operations) {
    const { owner, manager, ids } =
      request.method === 'GET' ? shared : await furnish(vault, id !== 'createToken')
    const shown = codeSamples({ id, request, keyHeader })[language] ?? ''
    const text = ids.reduce((told, [example, own]) => told.replace(example, own), shown)
    samples.push({ id, text, key: tag === 'Tokens' ? owner : manager, status })
  }
  return samples
}

const isThere = (program: string, ...given: string[]): boolean => spawnSync(program, given).status === 0

/** Runs what the page shows as it is, and tells the status of each answer. */
const python = `
import json, sys, requests
VAULT = sys.argv[1]
for sample in json.load(sys.stdin):
    KEY = {"SVC-API-KEY": sample["key"]}
    print(sample["id"], eval(sample["text"]).status_code)
`

onOneEngine('what the documentation shows, executed', 'the samples are of the interface', vault => {
  test('every curl command works as pasted (C36.3)', { skip: !isThere('curl', '--version') }, async () => {
    for (const { id, text, key, status } of await samplesIn(vault(), 'curl')) {
      const command = text.replace('curl -s', `curl -s -o /dev/null -w '%{http_code}'`)
      const env = { PATH: process.env.PATH ?? '', VAULT: vault().baseUrl, API_KEY: key }
      const { stdout } = await run('sh', ['-c', command], { env })
      assert.equal(Number(stdout), status, id)
    }
  })

  test('every line of Python works (C36.3)', {
    skip:
      inShortRun ||
      (!isThere('python3', '-c', 'import requests') && 'python3 with requests is not installed'),
  }, async () => {
    const samples = await samplesIn(vault(), 'py')
    const child = run('python3', ['-c', python, vault().baseUrl], {
      env: { PATH: process.env.PATH ?? '', NO_PROXY: '*' },
    })
    child.child.stdin?.end(JSON.stringify(samples))
    const { stdout } = await child
    // The library follows the redirect from / to /docs.
    assert.deepEqual(
      stdout.trim().split('\n'),
      samples.map(({ id, status }) => `${id} ${status === 303 ? 200 : status}`),
    )
  })

  test('every call of the client works (C36.3)', async () => {
    for (const { id, text, key } of await samplesIn(vault(), 'ts')) {
      if (text === '') continue
      const client = new Vault({ baseUrl: vault().baseUrl, apiKey: key, retries: 0 })
      let printed = 0
      const call = new Function('vault', 'console', `return (async () => { ${text} })()`)
      await assert.doesNotReject(call(client, { log: () => ++printed }), id)
      if (text.startsWith('for await')) assert.ok(printed > 0, id)
    }
  })
})
