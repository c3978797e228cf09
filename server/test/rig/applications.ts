import { permissionsByType } from '../../src/domain/access/permissions.ts'
import { granted } from './answers.ts'
import { owner, type TestApplication, type TestVault } from './test-vault.ts'

/** Who may do everything to tokens, and who may do everything else: the applications of most tenants. */
export const ownerAndManager = {
  owner,
  manager: { type: 'management', permissions: permissionsByType.management },
} as const satisfies Record<string, TestApplication>

/** A new application through the interface, so that what it asks for is read as a caller's. */
export const newApplication = async (
  vault: TestVault,
  managerKey: string,
  body: Record<string, unknown>,
): Promise<{ id: string; key: string }> =>
  granted(await vault.post('/applications', managerKey, { name: 'made by a test', type: 'private', ...body }))
