import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { layeringComplaints, type Sources } from './rig/layering.ts'

const readSources = (): Sources => {
  const root = join(import.meta.dirname, '../src')
  const files = globSync('**/*.ts', { cwd: root }).map(file => file.replaceAll('\\', '/'))
  return new Map(files.sort().map(file => [file, readFileSync(join(root, file), 'utf8')]))
}

test('imports in server/src point down, without cycles, and names say what is inside (ARCHITECTURE.md layers)', () => {
  const sources = readSources()
  assert.ok(sources.has('domain/tokens/token.ts') && sources.has('cli/main.ts'))
  assert.deepEqual(layeringComplaints(sources), [])
})

test('what the vault calls on a word of a tenant goes through one door, outbound/ (U17.1)', () => {
  const callers = (sources: Sources): string[] =>
    layeringComplaints(sources).filter(complaint => complaint.endsWith('only outbound calls other servers'))
  const sources = readSources()
  assert.deepEqual(callers(sources), [])
  const another = new Map([...sources, ['operations/proxying/new.ts', 'await fetch(url)']])
  assert.equal(callers(another).length, 1)
})

/** A small service without any fault. */
const sound = {
  'domain/token.ts': "import { x } from './json.ts'",
  'domain/json.ts': '',
  'contract/endpoint.ts': "import type { T } from '../domain/token.ts'\nimport { Ajv } from 'ajv'",
  'telemetry/meters.ts': '',
  'scheduling/scheduler.ts': "import { m } from '../telemetry/meters.ts'",
  'store/port.ts': "import type { T } from '../domain/token.ts'",
  'store/sql/statements.ts': "import type { P } from '../port.ts'",
  'store/sqlite/store.ts': "import { s } from '../sql/statements.ts'",
  'crypto/aead.ts': "import { createHmac } from 'node:crypto'",
  'keys/make-keys.ts': "import { seal } from '../crypto/aead.ts'",
  'operations/create.ts': "import {\n  type A,\n  b,\n} from '../store/port.ts'\nimport '../crypto/aead.ts'",
  'jobs/job-timer.ts': "import { create } from '../operations/create.ts'",
  'http/server.ts': "import { createServer } from 'node:http'\nimport { c } from '../contract/endpoint.ts'",
  'service.ts': "import { s } from './http/server.ts'\nimport { j } from './jobs/job-timer.ts'",
  'config/config.ts': 'export const port = 8080',
  'cli/main.ts':
    "import { s } from '../service.ts'\nimport { open } from '../store/sqlite/store.ts'\nconst config = await import('../config/config.ts')\nrun(process.env)",
}

test('a sound tree has no complaints (ARCHITECTURE.md layers)', () => {
  assert.deepEqual(layeringComplaints(new Map(Object.entries(sound))), [])
})

const wrong: { name: string; file: string; text: string; complaints: string[] }[] = [
  {
    name: 'an import that points up',
    file: 'domain/new.ts',
    text: "import { p } from '../store/port.ts'",
    complaints: ['domain/new.ts imports store/port.ts, which points up'],
  },
  {
    name: 'a type import that points up',
    file: 'operations/new.ts',
    text: "import type { S } from '../http/server.ts'",
    complaints: ['operations/new.ts imports http/server.ts, which points up'],
  },
  {
    name: 'a counter that knows who counts',
    file: 'telemetry/new.ts',
    text: "import { s } from '../scheduling/scheduler.ts'",
    complaints: ['telemetry/new.ts imports scheduling/scheduler.ts, which points up'],
  },
  {
    name: 'a re-export over several lines that points up',
    file: 'store/sqlite/new.ts',
    text: "export {\n  create,\n  type Created,\n} from '../../operations/create.ts'",
    complaints: ['store/sqlite/new.ts imports operations/create.ts, which points up'],
  },
  {
    name: 'an import of an edge from below',
    file: 'http/new.ts',
    text: "import '../config/config.ts'",
    complaints: ['http/new.ts imports config/config.ts, which points up'],
  },
  ...[
    ['contract', 'store/port.ts'],
    ['contract', 'crypto/aead.ts'],
    ['store', 'crypto/aead.ts'],
    ['crypto', 'contract/endpoint.ts'],
    ['outbound', 'crypto/aead.ts'],
    ['crypto', 'keys/make-keys.ts'],
    ['store', 'keys/make-keys.ts'],
    ['keys', 'store/port.ts'],
    ['keys', 'contract/endpoint.ts'],
    ['http', 'jobs/job-timer.ts'],
    ['jobs', 'http/server.ts'],
  ].map(([folder, target]) => ({
    name: `an import from ${folder} sideways to ${target}`,
    file: `${folder}/new.ts`,
    text: `import { x } from '../${target}'`,
    complaints: [`${folder}/new.ts imports ${target}, which points sideways`],
  })),
  {
    name: 'a dynamic import or an import in a type',
    file: 'domain/new.ts',
    text: "type P = import('../store/port.ts').Port\nconst later = () => import('../config/config.ts')",
    complaints: [
      'domain/new.ts imports store/port.ts, which points up',
      'domain/new.ts imports config/config.ts, which points up',
    ],
  },
  {
    name: 'an import from outside server/src',
    file: 'cli/new.ts',
    text: "import { TestVault } from '../../test/rig/test-vault.ts'",
    complaints: ['cli/new.ts imports ../test/rig/test-vault.ts, which is not in server/src'],
  },
  {
    name: 'a cycle inside a folder, through a type import',
    file: 'domain/json.ts',
    text: "import type { Token } from './token.ts'",
    complaints: ['import cycle: domain/token.ts → domain/json.ts → domain/token.ts'],
  },
  {
    name: 'a cycle between edges',
    file: 'config/config.ts',
    text: "import { main } from '../cli/main.ts'",
    complaints: ['import cycle: config/config.ts → cli/main.ts → config/config.ts'],
  },
  ...['operations/new.ts', 'store/new.ts'].map(file => ({
    name: `SQL above the engines in ${file}`,
    file,
    text: `import { s } from '${file === 'store/new.ts' ? '.' : '../store'}/sql/statements.ts'`,
    complaints: [`${file} imports store/sql/statements.ts: only the edges know an engine and its SQL`],
  })),
  {
    name: 'HTTP below http',
    file: 'operations/new.ts',
    text: "import type { IncomingMessage } from 'node:http'\nimport { request } from 'node:https'",
    complaints: [
      'operations/new.ts imports package node:http: only http, outbound and the edges know HTTP',
      'operations/new.ts imports package node:https: only http, outbound and the edges know HTTP',
      'operations/new.ts imports request of node:https: only outbound calls other servers',
    ],
  },
  ...(
    [
      ["import { request } from 'node:http'", 'imports request of node:http'],
      ["import { createServer, get as read } from 'node:http'", 'imports get as read of node:http'],
      ["import http from 'node:http'", 'imports * of node:http'],
      ["import * as net from 'node:net'", 'imports * of node:net'],
      ["import { type Socket, connect } from 'node:net'", 'imports connect of node:net'],
      ["import { Socket } from 'node:net'", 'imports Socket of node:net'],
      ["import { connect } from 'node:tls'", 'imports connect of node:tls'],
      ["import { lookup } from 'node:dns/promises'", 'imports lookup of node:dns/promises'],
      ["import pg from 'pg'", 'imports * of pg'],
      ["const { request } = await import('node:https')", 'imports node:https'],
      ['await fetch(url)', 'calls fetch'],
      ['new WebSocket(url)', 'calls fetch'],
    ] as const
  ).map(([text, complaint]) => ({
    name: `a call of another server by ${JSON.stringify(text)}`,
    file: 'service.ts',
    text,
    complaints: [`service.ts ${complaint}: only outbound calls other servers`],
  })),
  ...[
    'const port = process.env.PORT',
    'const port = process\n  .env.PORT',
    "process['env']",
    'const { env } = process',
  ].map(text => ({
    name: `the environment read by ${JSON.stringify(text)}`,
    file: 'service.ts',
    text,
    complaints: ['service.ts reads process.env: only cli reads the environment'],
  })),
  {
    name: 'an import of the environment',
    file: 'http/new.ts',
    text: "import { env } from 'node:process'",
    complaints: ['http/new.ts imports package node:process: only cli reads the environment'],
  },
  ...['utils.ts', 'helpers.ts', 'common.ts', 'index.ts', 'Utils.ts'].map(name => ({
    name: `a file named ${name}`,
    file: `domain/${name}`,
    text: '',
    complaints: [`domain/${name}: "${name}" does not say what is inside`],
  })),
  {
    name: 'a folder named common',
    file: 'http/common/text.ts',
    text: '',
    complaints: ['http/common/text.ts: "common" does not say what is inside'],
  },
  {
    name: 'a file in no layer',
    file: 'services/new.ts',
    text: '',
    complaints: ['services/new.ts stands in no layer'],
  },
]
for (const { name, file, text, complaints } of wrong)
  test(`${name} is noticed (ARCHITECTURE.md layers)`, () => {
    assert.deepEqual(layeringComplaints(new Map(Object.entries({ ...sound, [file]: text }))), complaints)
  })
