import type { SettingName } from '../../config/settings.ts'
import { actResults, entityTypes } from '../../domain/acts/act.ts'
import { dateForms } from '../../domain/time/date-time.ts'
import type { Command } from '../command.ts'

const json = { json: 'print JSON' }
const tenant = { tenant: 'id of the tenant' }
const application = { ...tenant, app: 'id of the application' }
const logOptions = {
  tenant: 'id of the tenant, living or deleted',
  'entity-type': `only records about this: ${entityTypes.join(', ')}`,
  'entity-id': 'only records about the one with this id',
  'start-date': `only records at this time or later, such as ${dateForms}`,
  'end-date': 'only records before this time',
  'actor-id': 'only what this application did',
  operation: "only this operation: an endpoint's operationId, a command or a job",
  result: `only those with this result: ${actResults.join(', ')}`,
  'trace-id': 'only those of the request with this trace id',
  'token-id': 'only those that name this token',
}

const vault: readonly SettingName[] = [
  'data',
  'database-url',
  'database-password-file',
  'database-ca',
  'database-pool',
  'database-statement-timeout',
  'key-provider',
  'master-key-file',
  'master-key',
]
const tls: readonly SettingName[] = ['tls-cert', 'tls-key', 'tls-client-ca']
const address: readonly SettingName[] = ['host', 'port', ...tls]
const service: readonly SettingName[] = [
  ...address,
  'log-level',
  'header-prefix',
  'cors-origins',
  'trusted-proxies',
  'idempotency-strict',
  'rate-limit',
  'rate-limit-burst',
  'limits',
  'drain-timeout',
  'audit-anchors',
  'audit-retention-days',
]

/**
 * All commands of `strongroom`. The code of a command is loaded when it is called: loading all of it takes longer than most
 * commands take to run.
 */
export const commands: readonly Command[] = [
  {
    name: 'dev',
    summary: 'Run a vault on this machine with nothing to set up; its data is in .strongroom',
    takesBothStorages: true,
    reads: ['data', ...service],
    run: async invocation => (await import('./dev.ts')).dev(invocation),
  },
  {
    name: 'serve',
    summary: 'Run the vault in production; needs storage and a key provider, prints no key',
    reads: [...vault, ...service, 'workers'],
    run: async invocation => (await import('./serve.ts')).serve(invocation),
  },
  {
    name: 'migrate',
    summary: 'Bring storage to the schema of this release, or show its state',
    flags: {
      status: 'change nothing, show the schema',
      distribute: 'spread the rows of all tenants over the nodes of a Citus cluster; stop all servers first',
      ...json,
    },
    reads: vault,
    run: async invocation => (await import('./migrate.ts')).migrate(invocation),
  },
  {
    name: 'migrate-store',
    summary:
      'Copy the vault of a folder into an empty PostgreSQL database and verify it; if interrupted, run it again to resume',
    options: {
      from: 'folder of the embedded store (--data)',
      to: 'postgres://user@host/name (--database-url); with a password only as STRONGROOM_DATABASE_URL',
    },
    spelled: { data: 'from', 'database-url': 'to' },
    takesBothStorages: true,
    flags: { json: 'print JSON: the result, and each line of progress on standard error' },
    reads: vault,
    run: async invocation => (await import('./migrate-store.ts')).migrateStore(invocation),
  },
  {
    name: 'tenant create',
    summary: 'Make a tenant with a general, a private and a management application; prints their keys once',
    options: {
      name: 'name of the tenant',
      'included-active': 'monthly active tokens that its plan includes, for the usage report (0)',
    },
    flags: { json: 'print an object of the shape of dev-keys.json' },
    reads: [...vault, ...address, 'limits'],
    run: async invocation => (await import('./tenant.ts')).tenantCreate(invocation),
  },
  {
    name: 'tenant list',
    summary: 'List the tenants',
    flags: json,
    reads: vault,
    run: async invocation => (await import('./tenant.ts')).tenantList(invocation),
  },
  {
    name: 'tenant update',
    summary: "Change what a tenant's plan includes; its usage report shows it at once",
    words: ['<tenant id>'],
    options: { 'included-active': 'monthly active tokens' },
    reads: vault,
    run: async invocation => (await import('./tenant.ts')).tenantUpdate(invocation),
  },
  {
    name: 'tenant rekey',
    summary: 'Give a tenant a new data key and seal all its tokens with it, even while servers run',
    words: ['<tenant id>'],
    flags: {
      resume: 'make no new key: finish a run that was interrupted',
      ...json,
    },
    reads: vault,
    run: async invocation => (await import('./tenant.ts')).tenantRekey(invocation),
  },
  {
    name: 'tenant delete',
    summary: 'Delete a tenant with all its tokens and destroy its keys; there is no way back',
    words: ['<tenant id>'],
    flags: { yes: 'needed: nothing is deleted without it' },
    reads: vault,
    run: async invocation => (await import('./tenant.ts')).tenantDelete(invocation),
  },
  {
    name: 'app create',
    summary: 'Make an application; prints its key once',
    options: {
      ...tenant,
      name: 'name of the application',
      type: 'public, private or management',
      permissions: 'flat permissions, separated by commas',
      rules: 'file with a JSON array of access rules, instead of --permissions',
    },
    flags: json,
    reads: [...vault, 'limits'],
    run: async invocation => (await import('./application.ts')).appCreate(invocation),
  },
  {
    name: 'app list',
    summary: 'List the applications of a tenant',
    options: tenant,
    flags: json,
    reads: vault,
    run: async invocation => (await import('./application.ts')).appList(invocation),
  },
  {
    name: 'app grant',
    summary: 'Add permissions to a management application, such as those that this release brings',
    words: ['<application id>'],
    options: { ...tenant, permissions: 'management permissions, separated by commas' },
    flags: json,
    reads: vault,
    run: async invocation => (await import('./application.ts')).appGrant(invocation),
  },
  {
    name: 'logs list',
    summary:
      "Show a tenant's log, newest first, even if the tenant is gone; without --tenant the operator's own",
    options: {
      ...logOptions,
      start: 'cursor that the page before ended with',
      size: 'entries, at most (100)',
    },
    flags: json,
    reads: vault,
    run: async invocation => (await import('./logs.ts')).logsList(invocation),
  },
  {
    name: 'logs export',
    summary: 'Write a log as NDJSON, oldest first, with cursors at which to resume',
    options: { ...logOptions, start: 'last cursor that was written before', size: 'records, at most (all)' },
    flags: { follow: 'go on with new records until stopped, for a SIEM' },
    reads: [...vault, 'audit-anchors'],
    run: async invocation => (await import('./logs.ts')).logsExport(invocation),
  },
  {
    name: 'logs verify',
    summary:
      'Verify every log in storage and the checkpoints over them. Exit codes: 0 good, 1 could not run, 2 altered, 3 cut or rolled back, 4 forked',
    options: { anchor: 'file of checkpoints to compare with (those of audit-anchors)' },
    flags: json,
    reads: [...vault, 'audit-anchors'],
    failsWith: 1,
    run: async invocation => (await import('./verify-logs.ts')).logsVerify(invocation),
  },
  {
    name: 'logs accept-rollback',
    summary: 'Go on with storage that is older than its anchors, such as a backup; stop all servers first',
    words: ['<size>'],
    reads: [...vault, 'audit-anchors'],
    run: async invocation => (await import('./verify-logs.ts')).logsAcceptRollback(invocation),
  },
  {
    name: 'key create',
    summary: 'Make a further key for an application; prints it once',
    options: { ...application, 'expires-at': `when it stops working, such as ${dateForms}` },
    flags: json,
    reads: [...vault, 'limits'],
    run: async invocation => (await import('./key.ts')).keyCreate(invocation),
  },
  {
    name: 'key list',
    summary: "List an application's keys, without their texts",
    options: application,
    flags: json,
    reads: vault,
    run: async invocation => (await import('./key.ts')).keyList(invocation),
  },
  {
    name: 'key revoke',
    summary: 'Revoke a key by its id; it stops working at once, even on a running server',
    options: application,
    words: ['<key id>'],
    reads: vault,
    run: async invocation => (await import('./key.ts')).keyRevoke(invocation),
  },
  {
    name: 'master-key',
    summary:
      'Make a new master key: into --master-key-file (mode 0600, never overwritten), or on standard output',
    reads: ['master-key-file'],
    run: async invocation => (await import('./master-key.ts')).masterKey(invocation),
  },
  {
    name: 'master-key add',
    summary:
      'Start a rotation of the master key: put a new one into its file, above those that are there. Copy the file to all machines',
    reads: vault,
    run: async invocation => (await import('./master-key-rotation.ts')).masterKeyAdd(invocation),
  },
  {
    name: 'master-key rewrap',
    summary: 'Bring all keys in storage under the first master key, even while servers run',
    flags: json,
    reads: vault,
    run: async invocation => (await import('./master-key-rotation.ts')).masterKeyRewrap(invocation),
  },
  {
    name: 'master-key retire',
    summary:
      'End a rotation: move all master keys but the first into a file of their own, once no key in storage needs them',
    reads: vault,
    run: async invocation => (await import('./master-key-rotation.ts')).masterKeyRetire(invocation),
  },
  {
    name: 'backup',
    summary: 'Copy the vault of a folder into one file, as of one moment, even while it is being served',
    words: ['<new file>'],
    reads: ['data'],
    run: async invocation => (await import('./backup.ts')).backup(invocation),
  },
  {
    name: 'doctor',
    summary:
      'Check storage, keys, TLS files, file permissions, clock and limits; each finding says what to do next',
    options: { sample: 'with --deep: check only about this many tokens per tenant, and no counters' },
    flags: {
      ...json,
      deep: 'open every token, check index, counters and deduplication against the tokens, and verify the logs',
      repair: 'with --deep: repair what differs; rows that do not open stay as they are',
    },
    reads: [...vault, ...tls, 'limits', 'audit-anchors'],
    run: async invocation => (await import('./doctor.ts')).doctor(invocation),
  },
]

/** The command that an invocation begins with. `master-key add` comes after `master-key`, and wins if both match. */
export const commandOf = (words: readonly string[]): Command | undefined =>
  commands.findLast(({ name }) => name.split(' ').every((word, index) => words[index] === word))
