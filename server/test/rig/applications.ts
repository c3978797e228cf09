import { permissionsByType } from '../../src/domain/access/permissions.ts'
import { granted } from './answers.ts'
import { owner, type TestApplication, type TestVault } from './test-vault.ts'

/** One application that may do everything to tokens, and one that may do everything else: what most tenants have. */
export const ownerAndManager = {
  owner,
  manager: { type: 'management', permissions: permissionsByType.management },
} as const satisfies Record<string, TestApplication>

/** Creates an application through the API, so that the request is parsed like any caller's. */
export const newApplication = async (
  vault: TestVault,
  managerKey: string,
  body: Record<string, unknown>,
): Promise<{ id: string; key: string }> =>
  granted(await vault.post('/applications', managerKey, { name: 'made by a test', type: 'private', ...body }))
