import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { inspect } from 'node:util'
import { startVault } from '../../server/src/testing.ts'
import type { RunningVault } from '../../server/src/testing-types.d.ts'
import * as client from '../src/main.ts'
import { type Scenario, type Site, scenarios } from './suite/scenarios.ts'

describe('the client', { timeout: 120_000 }, () => {
  let vault: RunningVault
  const site: { -readonly [Name in keyof Site]: Site[Name] } = {
    baseUrl: '',
    keys: { api_key: '', private_api_key: '', management_api_key: '' },
  }
  let all: Scenario[]
  before(async () => {
    vault = await startVault()
    site.baseUrl = vault.base_url
    site.keys = vault.keys
    Object.assign(globalThis, {
      nodeInspect: (thing: unknown) => inspect(thing, { depth: 9, showHidden: true }),
    })
    all = scenarios(client, site)
  })
  after(async () => {
    Reflect.deleteProperty(globalThis, 'nodeInspect')
    await vault.stop()
  })

  // The names are known before there is a vault.
  for (const [at, { name }] of scenarios(client, site).entries())
    test(`${name} (client/README.md)`, async () => {
      assert.equal(all[at]?.name, name)
      await all[at]?.run()
    })
})
