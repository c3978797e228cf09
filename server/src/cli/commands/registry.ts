import type { SettingName } from '../../config/settings.ts'
import { actResults, entityTypes } from '../../domain/acts/act.ts'
import { formNames, separatorNames } from '../../domain/moving/form-name.ts'
import { dateForms } from '../../domain/time/date-time.ts'
import type { Command } from '../command.ts'
import { shells } from '../shells.ts'

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

const logValues = { 'entity-type': entityTypes, result: actResults }

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
  'outbound-allow',
  'outbound-deny',
  'outbound-ports',
  'outbound-dns',
  'outbound-ca',
  'metrics-port',
  'metrics-host',
  'metrics-token-file',
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
    example: 'dev --port 8081',
    reads: ['data', ...service],
    run: async invocation => (await import('./dev.ts')).dev(invocation),
  },
  {
    name: 'serve',
    summary: 'Run the vault in production; needs storage and a key provider, prints no key',
    example:
      'serve --data /var/lib/strongroom --key-provider file --master-key-file /etc/strongroom/master.key',
    reads: [...vault, ...service, 'workers'],
    run: async invocation => (await import('./serve.ts')).serve(invocation),
  },
  {
    name: 'status',
    summary: 'Ask the server of these settings whether it is ready; exits with 0 only if it is',
    flags: json,
    example: 'status --port 8080',
    reads: ['data', 'database-url', ...address],
    run: async invocation => (await import('./status.ts')).status(invocation),
  },
  {
    name: 'migrate',
    summary: 'Bring storage to the schema of this release, or show its state',
    flags: {
      status: 'change nothing, show the schema',
      distribute: 'spread the rows of all tenants over the nodes of a Citus cluster; stop all servers first',
      ...json,
    },
    example: 'migrate --status',
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
    example: 'migrate-store --from /var/lib/strongroom --to postgres://strongroom@db.example/vault',
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
    requires: ['name'],
    example: 'tenant create --name Acme --included-active 100000',
    reads: [...vault, ...address, 'limits'],
    run: async invocation => (await import('./tenant.ts')).tenantCreate(invocation),
  },
  {
    name: 'tenant list',
    summary: 'List the tenants',
    flags: json,
    example: 'tenant list --json',
    reads: vault,
    run: async invocation => (await import('./tenant.ts')).tenantList(invocation),
  },
  {
    name: 'tenant update',
    summary: "Change what a tenant's plan includes; its usage report shows it at once",
    words: ['<tenant id>'],
    options: { 'included-active': 'monthly active tokens' },
    requires: ['included-active'],
    example: 'tenant update $TENANT --included-active 250000',
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
    example: 'tenant rekey $TENANT',
    reads: vault,
    run: async invocation => (await import('./tenant.ts')).tenantRekey(invocation),
  },
  {
    name: 'tenant delete',
    summary: 'Delete a tenant with all its tokens and destroy its keys; there is no way back',
    words: ['<tenant id>'],
    flags: { yes: 'needed: nothing is deleted without it' },
    requires: ['yes'],
    example: 'tenant delete $TENANT --yes',
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
    requires: ['tenant', 'name', 'type'],
    values: { type: ['public', 'private', 'management'] },
    example: 'app create --tenant $TENANT --name checkout --type public --permissions token:create',
    reads: [...vault, 'limits'],
    run: async invocation => (await import('./application.ts')).appCreate(invocation),
  },
  {
    name: 'app list',
    summary: 'List the applications of a tenant',
    options: tenant,
    flags: json,
    requires: ['tenant'],
    example: 'app list --tenant $TENANT',
    reads: vault,
    run: async invocation => (await import('./application.ts')).appList(invocation),
  },
  {
    name: 'app grant',
    summary: 'Add permissions to a management application, such as those that this release brings',
    words: ['<application id>'],
    options: { ...tenant, permissions: 'management permissions, separated by commas' },
    flags: json,
    requires: ['tenant', 'permissions'],
    example: 'app grant $APPLICATION --tenant $TENANT --permissions log:read',
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
    values: logValues,
    example: 'logs list --tenant $TENANT --result denied --start-date 2026-03-01',
    reads: vault,
    run: async invocation => (await import('./logs.ts')).logsList(invocation),
  },
  {
    name: 'logs export',
    summary: 'Write a log as NDJSON, oldest first, with cursors at which to resume',
    options: { ...logOptions, start: 'last cursor that was written before', size: 'records, at most (all)' },
    flags: { follow: 'go on with new records until stopped, for a SIEM' },
    values: logValues,
    example: 'logs export --tenant $TENANT --follow',
    reads: [...vault, 'audit-anchors'],
    run: async invocation => (await import('./logs.ts')).logsExport(invocation),
  },
  {
    name: 'logs verify',
    summary:
      'Verify every log in storage and the checkpoints over them. Exit codes: 0 good, 1 could not run, 2 altered, 3 cut or rolled back, 4 forked',
    options: { anchor: 'file of checkpoints to compare with (those of audit-anchors)' },
    flags: json,
    example: 'logs verify --anchor /mnt/anchor/strongroom.notes',
    reads: [...vault, 'audit-anchors'],
    failsWith: 1,
    run: async invocation => (await import('./verify-logs.ts')).logsVerify(invocation),
  },
  {
    name: 'logs accept-rollback',
    summary: 'Go on with storage that is older than its anchors, such as a backup; stop all servers first',
    words: ['<size>'],
    example: 'logs accept-rollback 1234 --audit-anchors file:/mnt/anchor/strongroom.notes',
    reads: [...vault, 'audit-anchors'],
    run: async invocation => (await import('./verify-logs.ts')).logsAcceptRollback(invocation),
  },
  {
    name: 'key create',
    summary: 'Make a further key for an application; prints it once',
    options: { ...application, 'expires-at': `when it stops working, such as ${dateForms}` },
    flags: json,
    requires: ['tenant', 'app'],
    example: 'key create --tenant $TENANT --app $APPLICATION --expires-at 2030-12-31',
    reads: [...vault, 'limits'],
    run: async invocation => (await import('./key.ts')).keyCreate(invocation),
  },
  {
    name: 'key list',
    summary: "List an application's keys, without their texts",
    options: application,
    flags: json,
    requires: ['tenant', 'app'],
    example: 'key list --tenant $TENANT --app $APPLICATION',
    reads: vault,
    run: async invocation => (await import('./key.ts')).keyList(invocation),
  },
  {
    name: 'key revoke',
    summary: 'Revoke a key by its id; it stops working at once, even on a running server',
    options: application,
    words: ['<key id>'],
    requires: ['tenant', 'app'],
    example: 'key revoke $KEY --tenant $TENANT --app $APPLICATION',
    reads: vault,
    run: async invocation => (await import('./key.ts')).keyRevoke(invocation),
  },
  {
    name: 'master-key',
    summary:
      'Make a new master key: into --master-key-file (mode 0600, never overwritten), or on standard output',
    example: 'master-key --master-key-file /etc/strongroom/master.key',
    reads: ['master-key-file'],
    run: async invocation => (await import('./master-key.ts')).masterKey(invocation),
  },
  {
    name: 'master-key add',
    summary:
      'Start a rotation of the master key: put a new one into its file, above those that are there. Copy the file to all machines',
    example: 'master-key add --master-key-file /etc/strongroom/master.key',
    reads: vault,
    run: async invocation => (await import('./master-key-rotation.ts')).masterKeyAdd(invocation),
  },
  {
    name: 'master-key rewrap',
    summary: 'Bring all keys in storage under the first master key, even while servers run',
    flags: json,
    example: 'master-key rewrap',
    reads: vault,
    run: async invocation => (await import('./master-key-rotation.ts')).masterKeyRewrap(invocation),
  },
  {
    name: 'master-key retire',
    summary:
      'End a rotation: move all master keys but the first into a file of their own, once no key in storage needs them',
    example: 'master-key retire',
    reads: vault,
    run: async invocation => (await import('./master-key-rotation.ts')).masterKeyRetire(invocation),
  },
  {
    name: 'backup',
    summary: 'Copy the vault of a folder into one file, as of one moment, even while it is being served',
    words: ['<new file>'],
    example: 'backup /var/backups/strongroom.db --data /var/lib/strongroom',
    reads: ['data', 'key-provider', 'master-key-file', 'master-key'],
    run: async invocation => (await import('./backup.ts')).backup(invocation),
  },
  {
    name: 'restore',
    summary:
      'Put a backup in the place of the vault of a folder, examine every token of it, and bring it under the present master key',
    words: ['<backup>'],
    flags: {
      'set-aside':
        'if the folder holds a vault: keep its files in a folder of their own; stop all servers first',
      'accept-damage': 'restore the backup even if rows in it do not open',
      ...json,
    },
    example: 'restore /var/backups/strongroom.db --data /var/lib/strongroom --set-aside',
    reads: [...vault, 'audit-anchors'],
    run: async invocation => (await import('./restore.ts')).restore(invocation),
  },
  {
    name: 'import',
    summary:
      'Create tokens from a file, as POST /tokens would, even while servers run; if interrupted, run it again to resume. Exit codes: 0 all rows are in, 1 failed, 2 wrong usage, 3 some rows were rejected',
    words: ['<file or ->'],
    options: {
      ...tenant,
      from: `form of the file: ${formNames.join(', ')} (csv for *.csv, else ndjson)`,
      mapping: 'for CSV: JSON file from field to column',
      separator: 'for CSV: what separates cells, one of comma, semicolon, pipe, tab (comma)',
      rejected: 'file that says which rows were not taken in, and why (<file>.rejected)',
      identity: 'for a sealed archive: file with the identity of age that opens it',
      'passphrase-file': 'for a sealed archive: file with its passphrase, instead of typing it',
    },
    flags: {
      'dry-run': 'check all rows and store nothing',
      again: 'import a file once more that was imported whole, or that another import began with',
      json: 'print JSON: the result, and each line of progress on standard error',
    },
    requires: ['tenant'],
    values: { from: formNames, separator: separatorNames },
    notes: `Forms:
  ndjson        each line is a body of POST /tokens; archives of strongroom export are read, too
  csv           the first line names the columns; the mapping says which is which field. A field can be
                data.<name>, metadata.<name> or mask.<name>, and have the same value in all rows:
                {"type": {"value": "bank"}, "data.routing_number": "routing", "data.account_number": "account",
                 "id": "reference", "metadata.customer": "customer", "containers": {"value": ["/bank/high/"]}}
  basis-theory  tokens as the list of that service shows them to a key that may reveal, or pages of them
  vault-kv      secrets as vault kv get -format=json prints them, one after another`,
    example: 'import tokens.ndjson --tenant $TENANT --dry-run',
    reads: [...vault, 'limits'],
    run: async invocation => (await import('./import.ts')).importTokens(invocation),
  },
  {
    name: 'export',
    summary:
      'Write all tokens of a tenant as an archive sealed with age, or in the clear; a cvc is never in it. What import reads',
    words: ['<new file or ->'],
    options: {
      ...tenant,
      recipient: 'public keys of age (age1…) whose owners can open the archive, separated by commas',
      'passphrase-file': 'file with a passphrase that opens it, instead of typing one',
    },
    flags: {
      passphrase: 'ask for a passphrase that opens it',
      plaintext: "seal nothing: every value is written in the clear, once the tenant's name was typed",
      json: 'print JSON: the result, and each line of progress on standard error',
    },
    requires: ['tenant'],
    example: 'export tokens.age --tenant $TENANT --recipient $AGE_RECIPIENT',
    reads: vault,
    run: async invocation => (await import('./export.ts')).exportTokens(invocation),
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
    example: 'doctor --deep --sample 1000',
    reads: [...vault, ...tls, 'limits', 'audit-anchors'],
    run: async invocation => (await import('./doctor.ts')).doctor(invocation),
  },
  {
    name: 'completion',
    summary: 'Print a script that completes commands and options in a shell',
    words: ['<shell>'],
    values: { '<shell>': shells },
    example: 'completion bash > ~/.local/share/bash-completion/completions/strongroom',
    reads: [],
    run: async ({ words: [shell = ''] }) => (await import('./completion.ts')).completion(shell, commands),
  },
]

/** The command that an invocation begins with. `master-key add` comes after `master-key`, and wins if both match. */
export const commandOf = (words: readonly string[]): Command | undefined =>
  commands.findLast(({ name }) => name.split(' ').every((word, index) => words[index] === word))
