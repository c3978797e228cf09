import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { endpoints } from '../../src/contract/endpoints.ts'
import { RequestMeters } from '../../src/http/request-meters.ts'
import { allFamilies } from '../../src/telemetry/families.ts'
import { Telemetry } from '../../src/telemetry/telemetry.ts'
import { totalOf } from '../../src/telemetry/totals.ts'
import { Scrape } from '../rig/scrape.ts'

const root = join(import.meta.dirname, '../../..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

test('the page of metrics has every family, in the words of its declaration, and no other (docs/watching.md)', () => {
  const rows = [...read('docs/watching.md').matchAll(/^\| `(strongroom_\w+)` \| (\w+) \|.*\| (.+) \|$/gm)]
  assert.deepEqual(
    rows.map(([, name, type, help]) => ({ name, type, help })),
    allFamilies.map(({ name, type, help }) => ({ name, type, help })),
  )
})

test('names are those that Prometheus expects: a counter ends in _total, time is in seconds, and units are named', () => {
  for (const { name, type, scale } of allFamilies) {
    assert.match(name, /^strongroom_[a-z_]+$/)
    assert.equal(name.endsWith('_total'), type === 'counter', name)
    assert.equal(scale !== 1, /_seconds(_total)?$/.test(name), name)
  }
})

test('every endpoint is counted, and there is room for as many again before there are 1,500 series', () => {
  const telemetry = new Telemetry()
  new RequestMeters(telemetry)
  const scrape = new Scrape(totalOf(telemetry).text)
  for (const { method, path } of Object.values(endpoints))
    assert.equal(
      scrape.sum('strongroom_http_requests_total', { route: path, ...(path !== '/proxy' && { method }) }),
      0,
    )
  const ofEndpoints = scrape.series.filter(line => line.includes('route=')).length
  const perEndpoint = ofEndpoints / (Object.keys(endpoints).length + 1)
  assert.ok(perEndpoint <= 18, `${perEndpoint} series for each endpoint`)
})
