import { describe, test } from 'node:test'
import { domainPromises, fuzzDomain } from './fuzz-domain.ts'
import { fuzzHttp } from './fuzz-http.ts'
import { fuzzWire } from './fuzz-wire.ts'

// The same seed each time, so that a change is judged by itself; `npm run test:fuzz` looks elsewhere and for longer.
describe('whatever is sent', () => {
  const seed = 1
  test('C2.1 C2.4 C2.17 every request gets an answer from the catalogue, and none fails internally', () =>
    fuzzHttp({ seed, runs: 600, meetsAll: true }))
  test('C2.10 both readers of requests make the same of the same bytes', () =>
    fuzzWire({ seed, runs: 1_500 }))
  for (const name of domainPromises) test(`C2.4 ${name}`, () => fuzzDomain(name, { seed, runs: 500 }))
})
