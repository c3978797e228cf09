import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Application, Rule } from '../../../src/domain/access/application.ts'
import { decideUse, gainsUse, type UseDecision } from '../../../src/domain/access/use.ts'
import { readDestinationPattern } from '../../../src/domain/outbound/destination-pattern.ts'
import { readDestinationUrl } from '../../../src/domain/outbound/destination-url.ts'

const ports = new Set([8_443])

const application = (...rules: readonly Partial<Omit<Rule, 'priority'>>[]): Application => ({
  id: 'application',
  tenantId: 'tenant',
  name: 'a',
  type: 'private',
  permissions: [],
  rules: rules.map((rule, priority) => ({
    priority,
    container: '/',
    transform: 'redact',
    permissions: ['token:use'],
    ...rule,
  })),
  createdBy: 'somebody',
  createdAt: 0,
})

const to = (...texts: readonly string[]): Pick<Rule, 'destinations'> => ({
  destinations: texts.map(text => {
    const { url, fault } = readDestinationPattern(text, ports)
    assert.ok(url, `${text} ${fault}`)
    return url
  }),
})

const decided = (of: Application, containers: readonly string[], url: string): UseDecision => {
  const read = readDestinationUrl(url, ports)
  assert.ok(read.url, `${url} ${read.fault}`)
  return decideUse(of, containers, read.url)
}

describe('destinations of a rule', () => {
  const under: Readonly<Record<string, readonly string[]>> = {
    'https://api.example.com/v1/': [
      'https://api.example.com/v1/',
      'https://api.example.com/v1/charges',
      'https://api.example.com/v1/a/b?c=d',
      'https://API.Example.com/v1/charges',
      'https://api.example.com:443/v1/charges',
    ],
    'https://api.example.com/': [
      'https://api.example.com',
      'https://api.example.com?x',
      'https://api.example.com/v2',
    ],
    'https://API.EXAMPLE.com:8443/v1/': ['https://api.example.com:8443/v1/charges'],
    'https://*.example.com/': [
      'https://api.example.com/any/thing',
      'https://a.b.c.example.com',
      'https://x.example.com:443/',
    ],
  }
  for (const [pattern, urls] of Object.entries(under))
    for (const url of urls)
      test(`${pattern} covers ${url} (U11.5)`, () => {
        assert.equal(decided(application(to(pattern)), ['/a/'], url).outcome, 'allowed')
      })

  /** Where a value must not go, although it looks nearly like where it may. */
  const nearMisses: Readonly<Record<string, readonly string[]>> = {
    'https://api.example.com/v1/': [
      'https://api.example.com/v1',
      'https://api.example.com/v1?x=/v1/',
      'https://api.example.com/v10/charges',
      'https://api.example.com/v1x/',
      'https://api.example.com/V1/charges',
      'https://api.example.com/%761/charges',
      'https://api.example.com/v1%3F/charges',
      'https://api.example.com/x/v1/charges',
      'https://api.example.com/',
      'https://api.example.com',
      'https://api.example.com?/v1/',
      'https://api.example.com:8443/v1/charges',
      'https://example.com/v1/charges',
      'https://api.example.co/v1/charges',
      'https://api.example.com.evil.test/v1/charges',
      'https://api-example.com/v1/charges',
      'https://xapi.example.com/v1/charges',
      'https://x.api.example.com/v1/charges',
      'https://evil.test/api.example.com/v1/',
      'https://evil.test/v1/?https://api.example.com/v1/',
      'https://api.example.com/v1;x/charges',
      'https://api.example.com/v1.json/',
      'https://api.example.com/v1%20/charges',
    ],
    'https://*.example.com/': [
      'https://example.com/',
      'https://example.com',
      'https://xexample.com/',
      'https://x-example.com/',
      'https://api.example.com:8443/',
      'https://api.example.com.evil.test/',
      'https://example.com.evil.test/',
      'https://api.example.org/',
      'https://example.evil.com/',
      'https://com.example/',
      'https://example.com:8443/',
      'https://api.example.comm/',
    ],
    'https://api.example.com:8443/v1/': [
      'https://api.example.com/v1/charges',
      'https://api.example.com:443/v1/charges',
      'https://other.example.com:8443/v1/charges',
    ],
    'https://xn--bcher-kva.example/': [
      'https://xn--bcher-kva.example:8443/',
      'https://bcher-kva.example/',
      'https://xn--bcher-kva.example.com/',
    ],
  }
  for (const [pattern, urls] of Object.entries(nearMisses))
    for (const url of urls)
      test(`${pattern} does not cover ${url} (U11.5)`, () => {
        assert.equal(decided(application(to(pattern)), ['/a/'], url).outcome, 'destination_forbidden')
      })

  /** What is no pattern, and what would be no final URL under one, since another program might read it as one. */
  const noPatterns = [
    'https://*.example.com/v1/',
    'https://*.example.com:8443/',
    'https://*example.com/',
    'https://*/',
    'https://*.com/',
    'https://*.*.example.com/',
    'https://api.*.com/',
    'https://api.example.com/*/',
    'https://api.example.com/v1',
    'https://api.example.com',
    'https://api.example.com/v1/?a=b/',
    'https://api.example.com/v1/#/',
    'https://api.example.com/v1/../',
    'https://api.example.com/v1/%2e%2e/',
    'https://api.example.com//',
    'https://api.example.com/v1%2f/',
    'https://user@api.example.com/',
    'https://api.example.com:99/',
    'https://127.0.0.1/',
    'https://[::1]/',
    'https://localhost/',
    'http://api.example.com/',
    'api.example.com/',
    '*',
    '',
  ]
  for (const text of noPatterns)
    test(`${JSON.stringify(text)} is no destination (U11.4)`, () => {
      assert.equal(readDestinationPattern(text, ports).url, undefined)
    })
})

describe('who may use a token', () => {
  const read = { permissions: ['token:read'] } as const
  const flat: Application = { ...application(), permissions: ['token:use'] }
  const here = 'https://api.example.com/v1/charges'
  const table: readonly {
    name: string
    of: Application
    containers?: readonly string[]
    outcome: string
    rule?: number | undefined
    isRevealed?: boolean
  }[] = [
    { name: 'without token:use nobody (U11.3)', of: application(read), outcome: 'permission_denied' },
    { name: 'flat, on every container (U11.1)', of: flat, outcome: 'allowed', isRevealed: false },
    {
      name: 'whatever the transform of the rule (U11.1)',
      of: application({ transform: 'redact' }),
      outcome: 'allowed',
      rule: 0,
      isRevealed: false,
    },
    {
      name: 'a rule that reveals without token:read reveals nothing (U11.2)',
      of: application({ transform: 'reveal' }),
      outcome: 'allowed',
      rule: 0,
      isRevealed: false,
    },
    {
      name: 'who reads it under reveal may do more (U11.2)',
      of: application({ transform: 'redact' }, { ...read, transform: 'reveal' }),
      outcome: 'allowed',
      rule: 0,
      isRevealed: true,
    },
    {
      name: 'who reads it under mask may not (U11.2)',
      of: application({ transform: 'reveal' }, { ...read, transform: 'mask' }),
      outcome: 'allowed',
      rule: 0,
      isRevealed: false,
    },
    {
      name: 'who reads one of its containers under reveal may not (U11.2)',
      of: application({}, { ...read, container: '/a/', transform: 'reveal' }),
      containers: ['/a/', '/b/'],
      outcome: 'allowed',
      rule: 0,
      isRevealed: false,
    },
    {
      name: 'one container that is not covered hides the token (U11.3)',
      of: application({ container: '/a/' }),
      containers: ['/a/', '/b/'],
      outcome: 'token_not_found',
    },
    {
      name: 'a rule for other destinations is skipped, and a later one decides (U11.5)',
      of: application(to('https://other.example/'), to('https://api.example.com/')),
      outcome: 'allowed',
      rule: 1,
      isRevealed: false,
    },
    {
      name: 'each container needs a rule for the destination (U11.5)',
      of: application(
        { container: '/a/', ...to('https://api.example.com/') },
        { container: '/b/', ...to('https://other.example/') },
      ),
      containers: ['/a/', '/b/'],
      outcome: 'destination_forbidden',
    },
    {
      name: 'no destination helps where a container has no rule (U11.3)',
      of: application({ container: '/a/', ...to('https://other.example/') }),
      containers: ['/a/', '/b/'],
      outcome: 'token_not_found',
    },
    {
      name: 'destinations limit no other permission of the rule (U11.5)',
      of: application({
        permissions: ['token:use', 'token:read'],
        transform: 'reveal',
        ...to('https://api.example.com/'),
      }),
      outcome: 'allowed',
      rule: 0,
      isRevealed: true,
    },
  ]
  for (const { name, of, containers = ['/a/'], outcome, rule, isRevealed } of table)
    test(name, () => {
      const found = decided(of, containers, here)
      assert.equal(found.outcome, outcome)
      if (found.outcome !== 'allowed') return
      assert.deepEqual([found.decision.rule, found.isRevealed], [rule, isRevealed])
    })

  test('without a destination only rules for all of them count (U11.5)', () => {
    const limited = application(to('https://api.example.com/'))
    assert.equal(decideUse(limited, ['/a/'], undefined).outcome, 'destination_forbidden')
    assert.equal(decideUse(application({}), ['/a/'], undefined).outcome, 'allowed')
  })
})

describe('a move of a token', () => {
  const a = { container: '/a/' }
  const b = { container: '/b/' }
  const here = to('https://here.example/')
  const there = to('https://there.example/')
  const gains: readonly { name: string; of: Application; before: string[]; after: string[]; is: boolean }[] =
    [
      { name: 'to where it may be used', of: application(b), before: ['/a/'], after: ['/b/'], is: true },
      {
        name: 'away from a container that forbids it',
        of: application(b),
        before: ['/a/', '/b/'],
        after: ['/b/'],
        is: true,
      },
      { name: 'to where it may not be used', of: application(a), before: ['/a/'], after: ['/b/'], is: false },
      {
        name: 'to a further container',
        of: application(a, b),
        before: ['/a/'],
        after: ['/a/', '/b/'],
        is: false,
      },
      { name: 'within one rule', of: application({}), before: ['/a/'], after: ['/b/'], is: false },
      {
        name: 'to other destinations',
        of: application({ ...a, ...here }, { ...b, ...there }),
        before: ['/a/'],
        after: ['/b/'],
        is: true,
      },
      {
        name: 'to more destinations',
        of: application({ ...here }, { ...b, ...there }),
        before: ['/a/'],
        after: ['/b/'],
        is: true,
      },
      {
        name: 'to fewer destinations',
        of: application({ ...here }, { ...b, ...there }),
        before: ['/b/'],
        after: ['/a/'],
        is: false,
      },
      {
        name: 'from any destination to one',
        of: application(a, { ...b, ...here }),
        before: ['/a/'],
        after: ['/b/'],
        is: false,
      },
      {
        name: 'of an application with flat permissions',
        of: { ...application(), permissions: ['token:use'] },
        before: ['/a/'],
        after: ['/b/'],
        is: false,
      },
    ]
  for (const { name, of, before, after, is } of gains)
    test(`${name} ${is ? 'lets' : 'does not let'} it be used for more (U11.1, C18.8)`, () => {
      assert.equal(gainsUse(of, before, after), is)
    })
})
