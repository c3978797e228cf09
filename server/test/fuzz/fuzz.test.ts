import { describe, test } from 'node:test'
import { domainPromises, fuzzDomain } from './fuzz-domain.ts'
import { fuzzHttp } from './fuzz-http.ts'

// `npm run test:fuzz` runs it for longer.
describe('whatever is sent', () => {
  const seed = Date.now() % 1_000_000
  test('C2.1 C2.4 C2.17 every request gets an answer of the catalogue, and none fails inside', () =>
    fuzzHttp({ seed, runs: 600 }))
  for (const name of domainPromises) test(`C2.4 ${name}`, () => fuzzDomain(name, { seed, runs: 500 }))
})
