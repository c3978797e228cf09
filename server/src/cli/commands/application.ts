import { ConfigError } from '../../config/config-error.ts'
import { readNamedFile } from '../../config/named-file.ts'
import { CreateApplication } from '../../contract/applications/schemas.ts'
import { compileCheck } from '../../contract/check.ts'
import type { ActKind } from '../../domain/acts/act.ts'
import { type Issue, invalid } from '../../domain/errors.ts'
import { faultPlace } from '../../domain/json/fault-place.ts'
import type { Json, JsonObject } from '../../domain/json/json.ts'
import { createApplication } from '../../operations/applications/create-application.ts'
import { grantPermissions } from '../../operations/applications/grant-permissions.ts'
import { listApplications } from '../../operations/applications/list-applications.ts'
import { asOperator } from '../../operations/vault/operator.ts'
import { type Run, required } from '../command.ts'
import { print, printKeys, table } from '../print.ts'
import { withVault } from '../storage/with-vault.ts'

const act = (operation: string): ActKind => ({ operation, entityType: 'application' })

const checkApplication = compileCheck(CreateApplication)

export const appCreate: Run = invocation =>
  withVault(invocation.config, async vault => {
    const { options, flags } = invocation
    const wish: JsonObject = { name: required(invocation, 'name'), type: required(invocation, 'type') }
    if (options.permissions !== undefined) wish.permissions = readPermissions(options.permissions)
    if (options.rules !== undefined) wish.rules = readRules(options.rules)
    const issues: Issue[] = []
    const body = checkApplication(wish, '', issues)
    if (body === undefined) throw invalid(...issues)
    const tenant = required(invocation, 'tenant')
    const made = await asOperator(vault, tenant, act('app create'), caller =>
      createApplication(vault, caller, body),
    )
    return printKeys(
      flags.json,
      made,
      table([
        ['id', String(made.id)],
        ['key', String(made.key)],
      ]),
      `the application ${made.id} was made, but its key was not shown: strongroom key create --tenant ${tenant} --app ${made.id} makes a new one`,
    )
  })

const readPermissions = (text: string): string[] => text.split(',').map(permission => permission.trim())

const readRules = (path: string): Json => {
  const text = readNamedFile(path)
  try {
    return JSON.parse(text) as Json
  } catch (error) {
    throw new ConfigError(`${path} is not JSON${faultPlace(text, error)}`)
  }
}

const applicationsPerPage = 100

export const appList: Run = invocation =>
  withVault(invocation.config, async vault => {
    const applications = await asOperator(
      vault,
      required(invocation, 'tenant'),
      act('app list'),
      async caller => {
        const all: JsonObject[] = []
        for (let page = 1; ; page++) {
          const { data } = await listApplications(vault, caller, { page, size: applicationsPerPage })
          const found = data as JsonObject[]
          all.push(...found)
          if (found.length < applicationsPerPage) return all
        }
      },
    )
    print(
      invocation.flags.json,
      applications,
      table([
        ['id', 'type', 'name'],
        ...applications.map(({ id, type, name }) => [String(id), String(type), String(name)]),
      ]),
    )
    return 0
  })

export const appGrant: Run = invocation =>
  withVault(invocation.config, async vault => {
    const [id = ''] = invocation.words
    const permissions = readPermissions(required(invocation, 'permissions'))
    const granted = await asOperator(vault, required(invocation, 'tenant'), act('app grant'), operator =>
      grantPermissions(vault, operator, id, permissions),
    )
    const held = Array.isArray(granted.permissions) ? granted.permissions.join(', ') : ''
    print(invocation.flags.json, granted, `the application ${id} holds ${held}`)
    return 0
  })
