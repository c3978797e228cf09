import assert from 'node:assert/strict'
import { permissionsByType } from '../../src/domain/permissions.ts'
import type { TestApplication, TestVault } from './test-vault.ts'

export type Reply = Awaited<ReturnType<TestVault['send']>>

/** Who plays in the suites of who may do what. */
export const cast = {
  /** Everything that can be done to tokens, and seen of them. */
  owner: {
    rules: [{ priority: 1, container: '/', transform: 'reveal', permissions: permissionsByType.private }],
  },
  manager: { type: 'management', permissions: permissionsByType.management },
} as const satisfies Record<string, TestApplication>

/** The body of an answer that the test takes for granted. */
export const granted = (reply: Reply): Reply['body'] => {
  assert.ok(reply.status < 300, `${reply.status} ${reply.text}`)
  return reply.body
}

/** A new application through the interface, so that what it asks for is read as a caller's. */
export const newApplication = async (
  vault: TestVault,
  managerKey: string,
  body: Record<string, unknown>,
): Promise<{ id: string; key: string }> =>
  granted(await vault.post('/applications', managerKey, { name: 'made by a test', type: 'private', ...body }))

/** An answer without what differs from request to request: two that are equal tell their reader the same. */
export const appearance = ({ status, headers, body }: Reply) => {
  const { trace_id: _trace, ...rest } = body ?? {}
  return {
    status,
    headers: [...headers].filter(([name]) => !['date', 'svc-trace-id'].includes(name)).sort(),
    body: rest,
  }
}
