import { ConfigError } from '../../config/config-error.ts'
import { readNamedFile } from '../../config/named-file.ts'
import { CreateApplication } from '../../contract/applications/schemas.ts'
import { compileCheck } from '../../contract/check.ts'
import { type Issue, invalid } from '../../domain/errors.ts'
import { faultPlace } from '../../domain/json/fault-place.ts'
import type { Json, JsonObject } from '../../domain/json/json.ts'
import { createApplication } from '../../operations/applications/create-application.ts'
import { listApplications } from '../../operations/applications/list-applications.ts'
import { operatorOf } from '../../operations/vault/operator.ts'
import { type Run, required } from '../command.ts'
import { print, printKeys, table } from '../print.ts'
import { withVault } from '../storage/with-vault.ts'

const checkApplication = compileCheck(CreateApplication)

export const appCreate: Run = invocation =>
  withVault(invocation.config, async vault => {
    const { options, flags } = invocation
    const wish: JsonObject = { name: required(invocation, 'name'), type: required(invocation, 'type') }
    if (options.permissions !== undefined)
      wish.permissions = options.permissions.split(',').map(permission => permission.trim())
    if (options.rules !== undefined) wish.rules = readRules(options.rules)
    const issues: Issue[] = []
    const body = checkApplication(wish, '', issues)
    if (body === undefined) throw invalid(...issues)
    const caller = await operatorOf(vault, required(invocation, 'tenant'))
    const made = await createApplication(vault, caller, body)
    return printKeys(
      flags.json,
      made,
      table([
        ['id', String(made.id)],
        ['key', String(made.key)],
      ]),
      `the application ${made.id} was made, but its key was not shown: strongroom key create --tenant ${caller.tenant.id} --app ${made.id} makes a new one`,
    )
  })

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
    const caller = await operatorOf(vault, required(invocation, 'tenant'))
    const applications: JsonObject[] = []
    for (let page = 1; ; page++) {
      const { data } = await listApplications(vault, caller, { page, size: applicationsPerPage })
      const found = data as JsonObject[]
      applications.push(...found)
      if (found.length < applicationsPerPage) break
    }
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
