import { describe, test } from 'node:test'
import { tries } from '../rig/long-run.ts'
import { domainPromises, fuzzDomain } from './fuzz-domain.ts'
import { fuzzHttp } from './fuzz-http.ts'
import { fuzzWire } from './fuzz-wire.ts'

// The same seed each time, so that a change is judged by itself; `npm run test:fuzz` looks elsewhere and for longer.
describe('whatever is sent', () => {
  const seed = 1
  test('every request gets an answer from the catalogue, and none fails internally (C2.1, C2.4, C2.17)', () =>
    fuzzHttp({ seed, runs: tries(250), meetsAll: true }))
  test('both readers of requests make the same of the same bytes (C2.10)', () =>
    fuzzWire({ seed, runs: tries(400) }))
  for (const name of domainPromises)
    test(`${name} (C2.4)`, () => fuzzDomain(name, { seed, runs: tries(250) }))
})
