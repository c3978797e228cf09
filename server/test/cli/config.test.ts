import assert from 'node:assert/strict'
import { chmodSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { after, describe, test } from 'node:test'
import { configuredStorage } from '../../src/cli/storage/configured-storage.ts'
import { postgresSettings } from '../../src/cli/storage/server-storage.ts'
import { type Config, readConfig } from '../../src/config/config.ts'
import { ConfigError } from '../../src/config/config-error.ts'
import { settings, variableName, warnOfUnknown } from '../../src/config/settings.ts'
import type { PostgresSettings } from '../../src/store/postgres/postgres-store.ts'
import { certificate } from '../rig/certificates.ts'
import { temporaryFolder } from '../rig/temporary-folder.ts'

const folder = temporaryFolder()
after(() => folder.remove())

const configFile = (content: string, mode = 0o600): string => {
  const path = join(folder.path, 'strongroom.json')
  writeFileSync(path, content)
  chmodSync(path, mode)
  return path
}

type Sources = {
  options?: Record<string, string>
  environment?: Record<string, string>
  file?: Record<string, unknown>
}

const read = ({ options = {}, environment = {}, file }: Sources): Config =>
  readConfig({
    options: file === undefined ? options : { ...options, config: configFile(JSON.stringify(file)) },
    environment,
  })

const complaint = (sources: Sources): string => {
  let message = ''
  assert.throws(
    () => read(sources),
    error => {
      assert.ok(error instanceof ConfigError)
      message = error.message
      return true
    },
  )
  assert.ok(!message.includes('\n'), 'one line')
  return message
}

/**
 * Every setting: three different values, where they show, and texts that it refuses. Settings without `bad` accept any
 * text: file and host names, and the master key, are found wrong only when they are used.
 */
const table: {
  readonly name: string
  readonly key: string
  readonly values: readonly [string, string, string]
  readonly beside?: Record<string, string>
  readonly show: (config: Config) => unknown
  readonly shown?: readonly [unknown, unknown, unknown]
  readonly bad?: readonly [string, ...string[]]
  readonly isSecret?: true
}[] = [
  {
    name: 'data',
    key: 'data',
    values: ['/a', 'b', 'c/d'],
    show: c => c.dataFolder,
    shown: paths('/a', 'b', 'c/d'),
  },
  {
    name: 'database-url',
    key: 'databaseUrl',
    values: ['postgres://u@a/x', 'postgresql://u@b:1,c/y', 'postgres://u@[::1]/z%20z'],
    show: c => c.database?.address.hosts.map(({ host, port }) => `${host}:${port}`).join(),
    shown: ['a:5432', 'b:1,c:5432', '::1:5432'],
    bad: ['mysql://u@h/d', 'postgres://h/d', 'postgres://u@h', 'postgres://u@h/d?x=1', 'postgres://u@h/%zz'],
  },
  {
    name: 'database-password-file',
    key: 'databasePasswordFile',
    values: ['/p', 'p', 'd/p'],
    beside: { 'database-url': 'postgres://u@h/d' },
    show: c => c.database?.passwordFile,
    shown: paths('/p', 'p', 'd/p'),
  },
  {
    name: 'database-ca',
    key: 'databaseCa',
    values: ['/c', 'c', 'd/c'],
    beside: { 'database-url': 'postgres://u@h/d' },
    show: c => c.database?.caFile,
    shown: paths('/c', 'c', 'd/c'),
  },
  {
    name: 'database-pool',
    key: 'databasePool',
    values: ['4', '20', '1000'],
    beside: { 'database-url': 'postgres://u@h/d' },
    show: c => String(c.database?.poolSize),
    bad: ['0', '3', '4.5', '1001', 'x'],
  },
  {
    name: 'database-statement-timeout',
    key: 'databaseStatementTimeout',
    values: ['1', '2.5', '60'],
    beside: { 'database-url': 'postgres://u@h/d' },
    show: c => String((c.database?.statementTimeoutMs ?? 0) / 1_000),
    bad: ['0', '-1', 'x', '3601'],
  },
  { name: 'host', key: 'host', values: ['127.0.0.1', '0.0.0.0', '::1'], show: c => c.host },
  {
    name: 'port',
    key: 'port',
    values: ['0', '1', '65535'],
    show: c => String(c.port),
    bad: ['65536', '-1', '80.5', 'http', '0x50', '1e3', ' 80', 'tcp://10.0.0.1:80'],
  },
  {
    name: 'log-level',
    key: 'logLevel',
    values: ['silent', 'trace', 'error'],
    show: c => c.logLevel,
    bad: ['verbose', 'INFO'],
  },
  {
    name: 'header-prefix',
    key: 'headerPrefix',
    values: ['svc', 'ACME', 'x-y2'],
    show: c => c.headerPrefix,
    shown: ['svc', 'acme', 'x-y2'],
    bad: ['2x', 'a_b', 'a b', 'a\r\nb', 'x'.repeat(33)],
  },
  {
    name: 'cors-origins',
    key: 'corsOrigins',
    values: ['https://a.example', 'https://a.example, http://localhost:3000', 'https://b.example,'],
    show: c => c.corsOrigins,
    shown: [['https://a.example'], ['https://a.example', 'http://localhost:3000'], ['https://b.example']],
    bad: [
      '*',
      'https://a.example/',
      'https://a.example/path',
      'a.example',
      'null',
      'file:///x',
      'HTTPS://a.example',
    ],
  },
  {
    name: 'trusted-proxies',
    key: 'trustedProxies',
    values: ['10.0.0.7', '10.0.0.0/8, fd00::/8', '::1,'],
    show: c => c.trustedProxies,
    shown: [['10.0.0.7'], ['10.0.0.0/8', 'fd00::/8'], ['::1']],
    bad: ['proxy', '10.0.0', '10.0.0.0/33', 'fd00::/129', '10.0.0.0/', '10.0.0.0/8/8', 'fe80::1%eth0', '/8'],
  },
  {
    name: 'idempotency-strict',
    key: 'idempotencyStrict',
    values: ['true', 'false', 'true'],
    show: c => String(c.idempotencyStrict),
    bad: ['yes', '1', 'TRUE'],
  },
  {
    name: 'rate-limit',
    key: 'rateLimit',
    values: ['0.5', '10', '1000000'],
    show: c => c.rateLimit,
    shown: [
      { perSecond: 0.5, burst: 1 },
      { perSecond: 10, burst: 10 },
      { perSecond: 1_000_000, burst: 1_000_000 },
    ],
    bad: ['0', '-1', '1000001', 'many', 'NaN', 'Infinity'],
  },
  {
    name: 'rate-limit-burst',
    key: 'rateLimitBurst',
    values: ['1', '2.5', '30'],
    beside: { 'rate-limit': '5' },
    show: c => String(c.rateLimit?.burst),
    bad: ['0', '0.5', 'x'],
  },
  {
    name: 'limits',
    key: 'limits',
    values: ['jsonDepth=3', 'bodyBytes=2000000,maskBytes=20000', ' metadataKeys = 60 , jsonDepth = 256'],
    show: c => c.limits,
    shown: [
      { jsonDepth: 3 },
      { bodyBytes: 2_000_000, maskBytes: 20_000 },
      { metadataKeys: 60, jsonDepth: 256 },
    ],
    bad: [
      'nonsense',
      ...['jsonDepth=', 'jsonDepth=0', 'jsonDepth=1.5', 'jsonDepth=257', 'jsonDepth=1=2'],
      ...[
        'jsonDepth=1e2',
        'jsonDepth=3,',
        'depth=3',
        '__proto__=3',
        'sweepIntervalMs=1',
        'idCharactersMax=401',
      ],
      // These contradict other limits, or each other.
      ...['pageSizeMax=10', 'bodyBytes=16384', 'maskBytes=400', 'idCharactersMax=35'],
    ],
  },
  {
    name: 'key-provider',
    key: 'keyProvider',
    values: ['file', 'env', 'file'],
    show: c => c.keyProvider,
    bad: ['aws', 'File'],
  },
  {
    name: 'master-key-file',
    key: 'masterKeyFile',
    values: ['/k', 'k', '../k'],
    show: c => c.masterKeyFile,
    shown: paths('/k', 'k', '../k'),
  },
  {
    name: 'master-key',
    key: 'masterKey',
    values: ['one', 'two', 'three'],
    show: c => c.masterKey?.text,
    isSecret: true,
  },
  {
    name: 'tls-cert',
    key: 'tlsCert',
    values: ['/c', 'c', 'd/c'],
    beside: { 'tls-key': '/key' },
    show: c => c.tls?.cert,
    shown: paths('/c', 'c', 'd/c'),
  },
  {
    name: 'tls-key',
    key: 'tlsKey',
    values: ['/c', 'c', 'd/c'],
    beside: { 'tls-cert': '/cert' },
    show: c => c.tls?.key,
    shown: paths('/c', 'c', 'd/c'),
  },
  {
    name: 'tls-client-ca',
    key: 'tlsClientCa',
    values: ['/c', 'c', 'd/c'],
    beside: { 'tls-cert': '/cert', 'tls-key': '/key' },
    show: c => c.tls?.clientCa,
    shown: paths('/c', 'c', 'd/c'),
  },
  {
    name: 'metrics-port',
    key: 'metricsPort',
    values: ['0', '9464', '65535'],
    show: c => String(c.metrics?.port),
    bad: ['65536', '-1', 'on'],
  },
  {
    name: 'metrics-host',
    key: 'metricsHost',
    values: ['127.0.0.1', '0.0.0.0', '::1'],
    beside: { 'metrics-port': '0' },
    show: c => c.metrics?.host,
  },
  {
    name: 'metrics-token-file',
    key: 'metricsTokenFile',
    values: ['/t', 't', 'd/t'],
    beside: { 'metrics-port': '0' },
    show: c => c.metrics?.tokenFile,
    shown: paths('/t', 't', 'd/t'),
  },
  {
    name: 'workers',
    key: 'workers',
    values: ['1', '2', '256'],
    show: c => String(c.workers),
    bad: ['0', '257', '1.5', '-1', 'all'],
  },
  {
    name: 'drain-timeout',
    key: 'drainTimeout',
    values: ['0', '0.25', '3600'],
    show: c => c.drainTimeoutMs,
    shown: [0, 250, 3_600_000],
    bad: ['3601', '10s', '-1'],
  },
  {
    name: 'audit-anchors',
    key: 'auditAnchors',
    values: ['file:/mnt/one', 'file:///mnt/one, file:/mnt/two', 'file:/a b,'],
    show: c => c.auditAnchors,
    shown: [['/mnt/one'], ['/mnt/one', '/mnt/two'], ['/a b']],
    bad: ['/mnt/one', 'file:relative', 's3:/bucket'],
  },
  {
    name: 'audit-retention-days',
    key: 'auditRetentionDays',
    values: ['90', '400', '3650'],
    show: c => c.auditRetentionDays,
    shown: [90, 400, 3_650],
    bad: ['89', '3651', '365.5', 'for ever'],
  },
  {
    name: 'outbound-allow',
    key: 'outboundAllow',
    values: ['10.0.0.0/8', '10.1.2.3:8443, fd00::/8', '[fd00::1]:443,::1'],
    show: c => c.outbound.allow,
    shown: [
      [{ network: '10.0.0.0/8', port: undefined }],
      [
        { network: '10.1.2.3', port: 8_443 },
        { network: 'fd00::/8', port: undefined },
      ],
      [
        { network: 'fd00::1', port: 443 },
        { network: '::1', port: undefined },
      ],
    ],
    bad: [
      'internal',
      '10.0.0.0/33',
      '10.0.0.1:0',
      '10.0.0.1:65536',
      '[10.0.0.1',
      '[]:443',
      ':443',
      '[fd00::1]443',
    ],
  },
  {
    name: 'outbound-deny',
    key: 'outboundDeny',
    values: ['1.2.3.4', '1.2.3.0/24, 2a00::/16', '::/0'],
    show: c => c.outbound.deny,
    shown: [['1.2.3.4'], ['1.2.3.0/24', '2a00::/16'], ['::/0']],
    bad: ['example.com', '1.2.3.4:443', '1.2.3'],
  },
  {
    name: 'outbound-ports',
    key: 'outboundPorts',
    values: ['8443', '8443, 9443', '1,65535'],
    show: c => c.outbound.ports,
    shown: [[8_443], [8_443, 9_443], [1, 65_535]],
    bad: ['0', '65536', '8443-8450', 'https'],
  },
  {
    name: 'outbound-dns',
    key: 'outboundDns',
    values: ['192.0.2.53', '192.0.2.53:5353, [2001:db8::53]:53', '2001:db8::53'],
    show: c => c.outbound.dns,
    shown: [['192.0.2.53'], ['192.0.2.53:5353', '[2001:db8::53]:53'], ['2001:db8::53']],
    bad: ['dns.example', '192.0.2.53:0', '192.0.2.53:99999', '192.0.2.0/24', '[192.0.2.53]:53'],
  },
  {
    name: 'outbound-ca',
    key: 'outboundCa',
    values: ['/c', 'c', 'd/c'],
    show: c => c.outbound.caFile,
    shown: paths('/c', 'c', 'd/c'),
  },
]

function paths(...values: readonly [string, string, string]): readonly [string, string, string] {
  return [resolve(values[0]), resolve(values[1]), resolve(values[2])]
}

describe('settings', () => {
  test('this table holds every setting (C35.4)', () => {
    assert.deepEqual(
      table.map(({ name }) => name),
      settings.map(({ name }) => name),
    )
  })

  test('no setting switches the log off: those about it say where its evidence goes, and for how many days it is kept (L1.12, L7.1)', () => {
    const about = settings.filter(({ name, help }) => /audit|\brecords?\b|\blog\b/.test(`${name} ${help}`))
    assert.deepEqual(
      about.map(({ name }) => name),
      // The first one is about what the program prints.
      ['log-level', 'audit-anchors', 'audit-retention-days'],
    )
    assert.equal(read({}).auditRetentionDays, 400)
    for (const value of ['0', '89', '3651', '-1', 'off', 'none', 'false'])
      assert.match(complaint({ options: { 'audit-retention-days': value } }), /^--audit-retention-days /)
    for (const [value, days] of [
      ['90', 90],
      ['3650', 3_650],
    ] as const)
      assert.equal(read({ options: { 'audit-retention-days': value } }).auditRetentionDays, days)
  })

  for (const { name, key, values, beside = {}, show, shown = values, isSecret } of table)
    test(`${name}: the file sets it, the variable overrides the file, and the flag overrides both (C35.4)`, () => {
      const variable = variableName(name)
      const file = { [key]: values[0] }
      assert.deepEqual(show(read({ options: beside, file })), shown[0])
      assert.deepEqual(
        show(read({ options: beside, file, environment: { [variable]: values[1] } })),
        shown[1],
      )
      assert.deepEqual(show(read({ options: beside, file, environment: { [variable]: '' } })), shown[0])
      if (isSecret) return
      const options = { ...beside, [name]: values[2] }
      assert.deepEqual(show(read({ options, file, environment: { [variable]: values[1] } })), shown[2])
    })

  for (const { name, key, beside = {}, bad } of table) {
    if (bad === undefined) continue
    test(`${name}: a wrong value is refused with the name of its source, and the value is not repeated (C35.4)`, () => {
      for (const value of bad) {
        const complaints = [
          complaint({ options: beside, file: { [key]: value } }),
          complaint({ options: beside, environment: { [variableName(name)]: value } }),
          complaint({ options: { ...beside, [name]: value } }),
        ]
        assert.ok(complaints[0]?.startsWith(`${key} in ${folder.path}`))
        assert.ok(complaints[1]?.startsWith(`${variableName(name)} `))
        assert.ok(complaints[2]?.startsWith(`--${name} `))
        if (value.length > 3) for (const message of complaints) assert.ok(!message.includes(value))
      }
    })
  }

  for (const { name, beside = {} } of table.filter(({ isSecret }) => !isSecret))
    test(`${name}: an empty flag is refused (C35.4)`, () => {
      assert.equal(complaint({ options: { ...beside, [name]: '' } }), `--${name} is empty`)
    })

  const folderAndDatabase: {
    name: string
    sources: Sources
    takes: 'folder' | 'database' | RegExp
  }[] = [
    {
      name: 'a flag beats a variable',
      sources: { options: { data: '/a' }, environment: { STRONGROOM_DATABASE_URL: 'postgres://u@h/d' } },
      takes: 'folder',
    },
    {
      name: 'a flag beats a variable, the other way round',
      sources: { options: { 'database-url': 'postgres://u@h/d' }, environment: { STRONGROOM_DATA: '/a' } },
      takes: 'database',
    },
    {
      name: 'a variable beats the file',
      sources: { environment: { STRONGROOM_DATA: '/a' }, file: { databaseUrl: 'postgres://u@h/d' } },
      takes: 'folder',
    },
    {
      name: 'both as flags are refused',
      sources: { options: { data: '/a', 'database-url': 'postgres://u@h/d' } },
      takes: /^--data and --database-url both say where the vault is: leave one out$/,
    },
    {
      name: 'both as variables are refused',
      sources: { environment: { STRONGROOM_DATA: '/a', STRONGROOM_DATABASE_URL: 'postgres://u@h/d' } },
      takes: /^STRONGROOM_DATA and STRONGROOM_DATABASE_URL both say where the vault is: leave one out$/,
    },
    {
      name: 'both in the file are refused',
      sources: { file: { data: '/a', databaseUrl: 'postgres://u@h/d' } },
      takes: /^data in \S+ and databaseUrl in \S+ both say where the vault is: leave one out$/,
    },
    {
      name: 'a flag settles a conflict between variables',
      sources: {
        options: { data: '/b' },
        environment: { STRONGROOM_DATA: '/a', STRONGROOM_DATABASE_URL: 'postgres://u@h/d' },
      },
      takes: 'folder',
    },
  ]
  for (const { name, sources, takes } of folderAndDatabase)
    test(`a folder and a database are one setting: ${name} (C35.4)`, () => {
      if (takes instanceof RegExp) return assert.match(complaint(sources), takes)
      const { dataFolder, database } = read(sources)
      const taken = [dataFolder && 'folder', database && 'database'].filter(kind => kind !== undefined)
      assert.deepEqual(taken, [takes])
    })

  for (const { name, key, beside = {} } of table)
    test(`${name}: null or an empty string in the config file is refused (C35.4)`, () => {
      const says = (value: unknown): string => complaint({ options: beside, file: { [key]: value } })
      assert.ok(says(null).endsWith(` must set ${key} to text, a number, true or false`))
      assert.ok(says('').endsWith(` leaves ${key} empty`))
    })

  test('with nothing set, the server gets port 8080 on 127.0.0.1 and log level info, and what must be explicit has no default (C34.2, C35.4)', () => {
    assert.deepEqual(read({}), {
      dataFolder: undefined,
      database: undefined,
      host: '127.0.0.1',
      port: 8_080,
      logLevel: 'info',
      headerPrefix: 'svc',
      corsOrigins: [],
      trustedProxies: [],
      idempotencyStrict: false,
      rateLimit: undefined,
      limits: {},
      keyProvider: undefined,
      masterKeyFile: undefined,
      masterKey: undefined,
      tls: undefined,
      metrics: undefined,
      workers: undefined,
      drainTimeoutMs: 10_000,
      auditAnchors: [],
      auditRetentionDays: 400,
      outbound: { allow: [], deny: [], ports: [], dns: [], caFile: undefined },
    } satisfies Config)
  })

  test('the config file may use JSON numbers, booleans, arrays and objects (C35.4)', () => {
    const config = read({
      file: {
        port: 9_000,
        idempotencyStrict: true,
        corsOrigins: ['https://a.example', 'https://b.example'],
        limits: { pageSizeMax: 10, pageSizeDefault: 5 },
      },
    })
    assert.deepEqual(config.limits, { pageSizeMax: 10, pageSizeDefault: 5 })
    assert.equal(config.port, 9_000)
    assert.equal(config.idempotencyStrict, true)
    assert.deepEqual(config.corsOrigins, ['https://a.example', 'https://b.example'])
  })

  test('a setting is refused when given both by its own flag and by the flag that a command has for it (C35.4)', () => {
    const options = { from: '/a', data: '/b' }
    assert.throws(() => readConfig({ options, environment: {}, spelled: { data: 'from' } }), {
      message: '--from and --data are one setting: leave one out',
    })
  })

  test('the config file is named by --config, or by STRONGROOM_CONFIG (C35.4)', () => {
    const path = configFile('{"port":1}')
    assert.equal(read({ environment: { STRONGROOM_CONFIG: path } }).port, 1)
    assert.equal(read({ environment: { STRONGROOM_CONFIG: '' } }).port, 8_080)
    assert.equal(
      readConfig({ options: { config: path }, environment: { STRONGROOM_CONFIG: '/nowhere.json' } }).port,
      1,
    )
  })

  const faults: { name: string; content: string; mode?: number; says: RegExp }[] = [
    { name: 'not JSON', content: '{\n  port: 1\n}', says: /is not JSON \(line 2 column 3\)$/ },
    {
      name: 'a master key instead of JSON',
      content: 'strongroom-master-key-1:c2hvcnQ=',
      says: /is not JSON \(line 1 column 1\)$/,
    },
    { name: 'null', content: 'null', says: /must hold a JSON object$/ },
    { name: 'an array', content: '[{"port":1}]', says: /must hold a JSON object$/ },
    { name: 'a string', content: '"port"', says: /must hold a JSON object$/ },
    {
      name: 'an unknown setting',
      content: '{"tlsCertificate":"x"}',
      says: /has an unknown setting: tlsCertificate$/,
    },
    {
      name: 'a misspelt setting',
      content: '{"keyProvder":"env"}',
      says: /keyProvder \(did you mean keyProvider\?\)$/,
    },
    { name: 'the name of a flag', content: '{"log-level":"info"}', says: /did you mean logLevel\?\)$/ },
    { name: 'an object as a value', content: '{"port":{"number":80}}', says: /must set port to text/ },
    { name: 'an array for a single value', content: '{"data":["/a","/b"]}', says: /must set data to text/ },
    {
      name: 'a master key in a file open to others',
      content: '{"masterKey":"m"}',
      mode: 0o640,
      says: /run chmod 600 /,
    },
    {
      name: 'a master key in a file open to all but its group',
      content: '{"masterKey":"m"}',
      mode: 0o604,
      says: /run chmod 600 /,
    },
    {
      name: 'a database password in a file open to others',
      content: '{"databaseUrl":"postgres://u:secret@h/d"}',
      mode: 0o640,
      says: /run chmod 600 /,
    },
  ]
  for (const { name, content, mode, says } of faults)
    test(`a config file is refused in one line: ${name} (C35.4)`, () => {
      const path = configFile(content, mode)
      const message = complaint({ options: { config: path } })
      assert.ok(message.startsWith(`the config file ${path} `))
      assert.match(message, says)
    })

  test('a config file without secrets may be open to others, and a closed one may hold them (C35.4)', () => {
    const read = (content: string, mode: number) =>
      readConfig({ options: { config: configFile(content, mode) }, environment: {} })
    assert.equal(read('{"port":1}', 0o644).port, 1)
    assert.equal(read('{"databaseUrl":"postgres://u@h/d"}', 0o644).database?.address.password, undefined)
    const closed = read('{"databaseUrl":"postgres://u:secret@h/d"}', 0o600)
    assert.equal(closed.database?.address.password, 'secret')
  })

  test('a config file that does not exist is refused, even when a variable names it (C35.4)', () => {
    assert.equal(
      complaint({ environment: { STRONGROOM_CONFIG: '/nowhere.json' } }),
      'the config file /nowhere.json does not exist',
    )
  })

  test('a config file that is a folder, lies inside a file or is unreadable is refused for that reason (C35.4)', t => {
    const { path } = folder
    assert.equal(complaint({ options: { config: path } }), `the config file ${path} is a folder`)
    const inFile = join(configFile('{}'), 'x')
    assert.equal(
      complaint({ options: { config: inFile } }),
      `the config file ${inFile} cannot be read (ENOTDIR)`,
    )
    if (process.getuid?.() === 0) return t.diagnostic('root may read everything')
    const closed = configFile('{}', 0o000)
    assert.match(complaint({ options: { config: closed } }), /cannot be read by this user$/)
  })

  test('an empty limits object in the config file leaves the usual limits (C35.4)', () => {
    assert.deepEqual(read({ file: { limits: {} } }).limits, {})
  })

  test('an IPv6 address is accepted with and without brackets (C35.4)', () => {
    assert.equal(read({ options: { host: '[::1]' } }).host, '::1')
    assert.equal(read({ options: { host: '::1' } }).host, '::1')
  })

  const variables: { name: string; environment: Record<string, string>; says: string | undefined }[] = [
    {
      name: 'that are settings',
      environment: Object.fromEntries(
        [...settings.map(({ name }) => name), 'config', 'worker-start'].map(name => [
          variableName(name),
          'x',
        ]),
      ),
      says: undefined,
    },
    { name: 'of other programs', environment: { PATH: 'x', MY_STRONGROOM_PRT: 'x' }, says: undefined },
    {
      name: 'that are named like settings but unknown',
      environment: { STRONGROOM_RATE_LIMT: 'x', STRONGROOM_COLOUR: 'x' },
      says: 'ignored, because there is no such setting: STRONGROOM_COLOUR, STRONGROOM_RATE_LIMT (did you mean STRONGROOM_RATE_LIMIT?)',
    },
  ]
  for (const { name, environment, says } of variables)
    test(`variables ${name} cause ${says === undefined ? 'no' : 'a'} warning (C35.4)`, () => {
      assert.equal(warnOfUnknown(environment), says)
    })

  const together: { options: Record<string, string>; says: RegExp }[] = [
    { options: { 'tls-cert': '/c' }, says: /^TLS has no private key: set --tls-key or STRONGROOM_TLS_KEY/ },
    { options: { 'tls-key': '/k' }, says: /^TLS has no certificate: set --tls-cert or STRONGROOM_TLS_CERT/ },
    { options: { 'tls-client-ca': '/a' }, says: /^TLS has no certificate/ },
    { options: { 'rate-limit-burst': '5' }, says: /^--rate-limit-burst needs a rate limit as well/ },
  ]
  for (const { options, says } of together)
    test(`half a setting is refused: ${Object.keys(options)} alone (C35.1)`, () => {
      assert.match(complaint({ options }), says)
    })

  test('a password is taken from the variable, refused on the command line, and never repeated (C35.4)', () => {
    const url = 'postgres://u:s%40cret@h/d'
    const config = read({ environment: { STRONGROOM_DATABASE_URL: url } })
    assert.equal(config.database?.address.password, 's@cret')
    const message = complaint({ options: { 'database-url': url } })
    assert.match(message, /^--database-url holds a password.*STRONGROOM_DATABASE_PASSWORD_FILE$/)
    for (const broken of [`${url}?x=1`, 'postgres://u:s%40cret@h:port/d'])
      assert.doesNotMatch(complaint({ environment: { STRONGROOM_DATABASE_URL: broken } }), /cret/)
  })

  test('the file of the database password must be closed to others, and the CA is read from its file (docs/running.md)', () => {
    const { cert } = certificate('an authority')
    const used = (mode: number) => {
      const file = configFile(cert, mode)
      return settingsWith({ 'database-password-file': file, 'database-ca': file })
    }
    for (const mode of [0o640, 0o604])
      assert.throws(
        () => used(mode),
        /strongroom\.json holds a password and is open to others: run chmod 600 /,
      )
    const { passwordFile, ca } = used(0o600)
    assert.deepEqual([passwordFile, ca], [join(folder.path, 'strongroom.json'), cert])
  })

  for (const [what, content] of [
    ['no certificate', 'text'],
    ['a key', certificate('an authority').key],
    ['a broken certificate', certificate('an authority').cert.replace(/\n.{20}/, '\n')],
  ] as const)
    test(`a database CA file that holds ${what} is refused (C35.4)`, () => {
      assert.throws(
        () => settingsWith({ 'database-ca': configFile(content) }),
        error =>
          error instanceof ConfigError &&
          /strongroom\.json does not hold certificates \(PEM\)$/.test(error.message),
      )
    })

  const settingsWith = (options: Record<string, string>): PostgresSettings => {
    const { database } = read({ options: { 'database-url': 'postgres://u@h/d', ...options } })
    assert.ok(database)
    return postgresSettings(database)
  }

  const modes: [url: string, sslmode: string][] = [
    ['postgres://u@localhost/d', 'disable'],
    ['postgres://u@127.0.0.1/d', 'disable'],
    ['postgres://u@/d?host=/var/run/postgresql', 'disable'],
    ['postgres://u@db.example/d', 'verify-full'],
    ['postgres://u@localhost,db.example/d', 'verify-full'],
    ['postgres://u@127.example/d', 'verify-full'],
    ['postgres://u@db.example/d?sslmode=require', 'require'],
    ['postgres://u@localhost/d?sslmode=verify-ca', 'verify-ca'],
  ]
  const sockets = [
    'postgres://u@localhost:5433/d?host=/run/pg',
    'postgres://u@:5433/d?host=/run/pg',
    'postgres://u@%2Frun%2Fpg:5433/d',
  ]
  for (const url of sockets)
    test(`${url} means a socket, and the name shown for it leads to the same socket (C35.4)`, () => {
      const config = read({ options: { 'database-url': url } })
      assert.deepEqual(config.database?.address.hosts, [{ host: '/run/pg', port: 5_433 }])
      const again = read({ options: { 'database-url': configuredStorage(config).name } })
      assert.deepEqual(again.database?.address, config.database?.address)
    })

  const unencoded = [
    'postgres://u:p@cret/d@127.0.0.1:1/n',
    'postgres://u:p/cret@127.0.0.1:1/n',
    'postgres://u:p@cret@127.0.0.1:1/n',
    'postgres://u:p@cret@one,two/n',
    'postgres://u:p@cret/d#e@127.0.0.1:1/n',
    'postgres://u:p@cret/d?sslmode=require&host=e@127.0.0.1:1/n',
    'postgres://u:1#cret@127.0.0.1:1/n',
    'postgres://u:1?cret@127.0.0.1:1/n',
  ]
  for (const url of unencoded)
    test(`${url}, whose password is not percent-encoded, is refused with nothing of it in the message (C35.4)`, () => {
      const message = complaint({ environment: { STRONGROOM_DATABASE_URL: url } })
      assert.match(message, /^STRONGROOM_DATABASE_URL must have its user and password percent-encoded/)
      assert.doesNotMatch(message, /cret|127/)
    })

  test('what is percent-encoded in a database URL may hold any sign (C35.4)', () => {
    const url = 'postgres://u%40x:a%40b%2Fc%3Fd%23e@db.example/n%40%2F'
    const address = read({ environment: { STRONGROOM_DATABASE_URL: url } }).database?.address
    assert.deepEqual([address?.user, address?.password, address?.database], ['u@x', 'a@b/c?d#e', 'n@/'])
  })

  test('a parameter given twice in the database URL is refused (C35.4)', () => {
    const url = 'postgres://u@db.example/d?sslmode=disable&sslmode=verify-full'
    assert.match(complaint({ options: { 'database-url': url } }), /each once/)
  })

  for (const [url, sslmode] of modes)
    test(`TLS to the database: ${url} means ${sslmode} (C35.4)`, () => {
      assert.equal(read({ options: { 'database-url': url } }).database?.address.sslmode, sslmode)
    })

  for (const url of ['postgres://u@localhost/d', 'postgres://u@127.0.0.1/d', 'postgres://u@db.example/d'])
    test(`with a CA, ${url} means verify-full (C35.4)`, () => {
      const options = { 'database-url': url, 'database-ca': '/ca.pem' }
      assert.equal(read({ options }).database?.address.sslmode, 'verify-full')
    })

  const untrusting = [
    { url: 'postgres://u@db.example/d?sslmode=disable', says: /^--database-url has sslmode=disable, / },
    { url: 'postgres://u@localhost/d?sslmode=disable', says: /^--database-url has sslmode=disable, / },
    { url: 'postgres://u@localhost/d?host=/run/pg', says: /^--database-url names a socket, / },
    { url: 'postgres://u@%2Frun%2Fpg/d', says: /^--database-url names a socket, / },
  ]
  for (const { url, says } of untrusting)
    test(`a CA beside ${url}, which uses none, is refused (C35.4)`, () => {
      const message = complaint({ options: { 'database-url': url, 'database-ca': '/ca.pem' } })
      assert.match(message, says)
      assert.match(message, /--database-ca/)
    })
})
