import type { JsonObject } from '../../domain/json/json.ts'
import { createApiKey } from '../../operations/keys/create-api-key.ts'
import { deleteApiKey } from '../../operations/keys/delete-api-key.ts'
import { listApiKeys } from '../../operations/keys/list-api-keys.ts'
import { operatorOf } from '../../operations/vault/operator.ts'
import { type Run, required } from '../command.ts'
import { print, printKeys, printText, table } from '../print.ts'
import { withVault } from '../storage/with-vault.ts'

export const keyCreate: Run = invocation =>
  withVault(invocation.config, async vault => {
    const caller = await operatorOf(vault, required(invocation, 'tenant'))
    const expiresAt = invocation.options['expires-at']
    const app = required(invocation, 'app')
    const made = await createApiKey(
      vault,
      caller,
      app,
      expiresAt === undefined ? {} : { expires_at: expiresAt },
    )
    return printKeys(
      invocation.flags.json,
      made,
      table([
        ['id', String(made.id)],
        ['key', String(made.key)],
      ]),
      `the key ${made.id} was made, but not shown: strongroom key revoke ${made.id} --tenant ${caller.tenant.id} --app ${app} takes it back; then make another`,
    )
  })

export const keyList: Run = invocation =>
  withVault(invocation.config, async vault => {
    const caller = await operatorOf(vault, required(invocation, 'tenant'))
    const keys = (await listApiKeys(vault, caller, required(invocation, 'app'))) as JsonObject[]
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
    const caller = await operatorOf(vault, required(invocation, 'tenant'))
    await deleteApiKey(vault, caller, required(invocation, 'app'), id)
    printText(`key ${id} is revoked`)
    return 0
  })
