import type { ActKind } from '../../domain/acts/act.ts'
import type { JsonObject } from '../../domain/json/json.ts'
import { createApiKey } from '../../operations/keys/create-api-key.ts'
import { deleteApiKey } from '../../operations/keys/delete-api-key.ts'
import { listApiKeys } from '../../operations/keys/list-api-keys.ts'
import { asOperator } from '../../operations/vault/operator.ts'
import { type Run, required } from '../command.ts'
import { print, printKeys, printText, table } from '../print.ts'
import { withVault } from '../storage/with-vault.ts'

const act = (operation: string): ActKind => ({ operation, entityType: 'key' })

export const keyCreate: Run = invocation =>
  withVault(invocation.config, async vault => {
    const tenant = required(invocation, 'tenant')
    const expiresAt = invocation.options['expires-at']
    const app = required(invocation, 'app')
    const wish = expiresAt === undefined ? {} : { expires_at: expiresAt }
    const made = await asOperator(vault, tenant, act('key create'), caller =>
      createApiKey(vault, caller, app, wish),
    )
    return printKeys(
      invocation.flags.json,
      made,
      table([
        ['id', String(made.id)],
        ['key', String(made.key)],
      ]),
      `the key ${made.id} was made, but not shown: strongroom key revoke ${made.id} --tenant ${tenant} --app ${app} takes it back; then make another`,
    )
  })

export const keyList: Run = invocation =>
  withVault(invocation.config, async vault => {
    const keys = (await asOperator(vault, required(invocation, 'tenant'), act('key list'), caller =>
      listApiKeys(vault, caller, required(invocation, 'app')),
    )) as JsonObject[]
    print(
      invocation.flags.json,
      keys,
      table([
        ['id', 'created', 'expires', 'last used'],
        ...keys.map(key =>
          [key.id, key.created_at, key.expires_at, key.last_used_at].map(cell => String(cell ?? '-')),
        ),
      ]),
    )
    return 0
  })

export const keyRevoke: Run = invocation =>
  withVault(invocation.config, async vault => {
    const [id = ''] = invocation.words
    await asOperator(vault, required(invocation, 'tenant'), act('key revoke'), caller =>
      deleteApiKey(vault, caller, required(invocation, 'app'), id),
    )
    printText(`key ${id} is revoked`)
    return 0
  })
