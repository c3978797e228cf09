import { setTimeout } from 'node:timers/promises'
import { ConfigError } from '../../config/config-error.ts'
import { viewTenant } from '../../domain/access/tenant.ts'
import type { ActKind } from '../../domain/acts/act.ts'
import { VaultError } from '../../domain/errors.ts'
import { limits } from '../../domain/limits.ts'
import { pace } from '../../domain/pace.ts'
import { countCharacters } from '../../domain/text/characters.ts'
import { counted } from '../../domain/text/terminal.ts'
import { formatInstant } from '../../domain/time/instant.ts'
import { tokenTypes } from '../../domain/tokens/types/registry.ts'
import { recordedForOperator } from '../../operations/log/acting.ts'
import { newDataKey } from '../../operations/maintenance/new-data-key.ts'
import { purgeDeadTenants } from '../../operations/maintenance/purge-dead-tenants.ts'
import { resealTokens } from '../../operations/maintenance/reseal-tokens.ts'
import { createTenant } from '../../operations/tenants/create-tenant.ts'
import { deleteTenant } from '../../operations/tenants/delete-tenant.ts'
import { listTenants } from '../../operations/tenants/list-tenants.ts'
import { setIncludedTokens } from '../../operations/tenants/set-included-tokens.ts'
import { typeCounter } from '../../operations/vault/counters.ts'
import { asOperator } from '../../operations/vault/operator.ts'
import { keysUnlessDeleted } from '../../operations/vault/tenant-keyring.ts'
import type { Vault } from '../../operations/vault/vault.ts'
import { baseUrl } from '../base-url.ts'
import { type Run, required } from '../command.ts'
import { print, printKeys, printNote, printText, table } from '../print.ts'
import { type StarterKeys, starterApplications } from '../starter-applications.ts'
import { configuredStorage } from '../storage/configured-storage.ts'
import { withVault } from '../storage/with-vault.ts'

const act = (operation: string): ActKind => ({ operation, entityType: 'tenant' })

export const tenantCreate: Run = invocation =>
  withVault(invocation.config, async vault => {
    const { config, flags } = invocation
    const name = required(invocation, 'name')
    if (countCharacters(name) > limits.nameCharactersMax)
      throw new ConfigError(`--name has at most ${limits.nameCharactersMax} characters`)
    const includedMonthlyActiveTokens = readIncluded(invocation.options['included-active'] ?? '0')
    const { tenantId: id, keys } = await createTenant(vault, {
      name,
      applications: starterApplications,
      includedMonthlyActiveTokens,
    })
    const made: StarterKeys = { base_url: baseUrl(config, config.port), tenant_id: id, ...keys }
    return printKeys(
      flags.json,
      made,
      table(Object.entries(made)),
      `the tenant ${id} was made, but its keys were not shown: strongroom key create --tenant ${id} --app <id> makes new ones for the applications that strongroom app list --tenant ${id} names`,
    )
  })

const readIncluded = (text: string): number => {
  if (!/^\d{1,15}$/.test(text))
    throw new ConfigError('--included-active must be a whole number of at most 15 digits')
  return Number(text)
}

export const tenantUpdate: Run = invocation =>
  withVault(invocation.config, async vault => {
    const included = readIncluded(required(invocation, 'included-active'))
    const [id = ''] = invocation.words
    await asOperator(vault, id, act('tenant update'), operator =>
      setIncludedTokens(vault, operator, included),
    )
    printText(`the plan of tenant ${id} includes ${included} monthly active tokens`)
    return 0
  })

export const tenantList: Run = ({ config, flags }) =>
  withVault(config, async vault => {
    const tenants = await recordedForOperator(vault, act('tenant list'), () => listTenants(vault))
    print(
      flags.json,
      tenants.map(tenant => ({
        ...viewTenant(tenant),
        // The name that the usage report has for it.
        included_monthly_active_tokens: tenant.includedMonthlyActiveTokens,
      })),
      table([
        ['id', 'name', 'created'],
        ...tenants.map(({ id, name, createdAt }) => [id, name, formatInstant(createdAt)]),
      ]),
    )
    return 0
  })

/** Tokens of the tenant, expired ones that are still stored included: all of them are to be sealed again. */
const countStored = async ({ store }: Vault, tenant: number): Promise<number> => {
  const counters = await store.readCounters(tenant, [...tokenTypes.keys()].map(typeCounter))
  return counters.reduce((sum, { value }) => sum + value, 0)
}

/** The new key seals everything written from now on. Earlier tokens are sealed again, so that the old key is useless. */
export const tenantRekey: Run = ({ config, flags, words: [id = ''] }) =>
  withVault(config, async vault => {
    const rekeyed = await asOperator(vault, id, act('tenant rekey'), async operator => {
      const { tenantNumber } = operator
      operator.act.finds(id)
      if (flags.resume !== true) {
        // The record becomes durable with the key, before any token is sealed again.
        operator.act.says({ count: await countStored(vault, tenantNumber) })
        await newDataKey(vault, operator, operator.act)
      }
      // Before that, a server may still write with the key before, behind the scan.
      await setTimeout(pace.grantsHeardMs)
      const keys = await keysUnlessDeleted(vault, tenantNumber, id, vault.keyring.readAgain)
      if (keys === undefined)
        throw new VaultError('notFound', { detail: 'There is no such tenant any more.' })
      const done = await resealTokens(vault, { tenantNumber, keys })
      operator.act.says({ count: done.resealed })
      return { ...done, version: keys.currentDataVersion }
    })
    const { version, resealed, left, unreadable, unreadableNames } = rekeyed
    print(
      flags.json,
      { data_key: version, resealed, left, unreadable, unreadable_rows: unreadableNames },
      `data key ${version} of tenant ${id}: ${counted(resealed, 'token')} sealed again`,
    )
    if (left > 0)
      printNote(
        'tenant rekey',
        `${counted(left, 'token was', 'tokens were')} changed by others each time: run it again with --resume`,
      )
    if (unreadable > 0)
      printNote(
        'tenant rekey',
        `${counted(unreadable, 'row does', 'rows do')} not open: strongroom doctor --deep names them`,
      )
    return left + unreadable > 0 ? 1 : 0
  })

export const tenantDelete: Run = async ({ config, flags, words: [id = ''] }) => {
  const { name: storage } = configuredStorage(config)
  if (flags.yes !== true)
    throw new ConfigError(`add --yes to delete the tenant and everything in it from ${storage}`)
  return withVault(config, async vault => {
    await asOperator(vault, id, act('tenant delete'), operator => deleteTenant(vault, operator))
    await purgeDeadTenants(vault)
    // Without this, the files keep the wrapped keys while another program has them open and no server sweeps.
    const isShredded = await vault.store.shred().then(
      () => true,
      () => false,
    )
    printText(`tenant ${id} is deleted from ${storage}`)
    if (!isShredded)
      printNote(
        'tenant delete',
        'its keys could not be wiped from the files yet, for example because another program reads them; the next sweep of a server does so',
      )
    return 0
  })
}
