import type { ExplainAccess } from '../../contract/applications/schemas.ts'
import type { Destination } from '../../domain/access/access.ts'
import { viewRule } from '../../domain/access/application.ts'
import { explainAccess as explain } from '../../domain/access/explain-access.ts'
import { type Issue, requireNone } from '../../domain/errors.ts'
import type { JsonObject } from '../../domain/json/json.ts'
import { readDestinationUrl } from '../../domain/outbound/destination-url.ts'
import { parseContainers } from '../../domain/tokens/containers.ts'
import { tokenType } from '../../domain/tokens/types/registry.ts'
import { applicationOf, loadGrants } from '../grants/load-grants.ts'
import type { Caller, Vault } from '../vault/vault.ts'

/** Says which rule decides for each container, and what the application would see. Changes nothing. */
export const explainAccess = async (
  vault: Vault,
  caller: Caller,
  applicationId: string,
  body: ExplainAccess,
): Promise<JsonObject> => {
  const issues: Issue[] = []
  const { permission } = body
  const type = body.type === undefined ? undefined : tokenType(body.type)
  if (body.containers === undefined && body.type === undefined)
    issues.push({ path: 'containers', message: 'is required where no type is given' })
  const containers =
    body.containers === undefined
      ? [type?.container ?? '/']
      : parseContainers(body.containers, 'containers', issues)
  const destination =
    body.destination === undefined ? undefined : readDestination(vault, permission, body.destination, issues)
  requireNone(issues)

  const { grants } = await loadGrants(vault, caller)
  const explained = explain(
    applicationOf(grants, applicationId, caller.act),
    permission,
    containers,
    destination,
  )
  return {
    application_id: applicationId,
    permission,
    outcome: explained.outcome,
    reason: explained.reason,
    containers: explained.containers.map(({ rule, ...rest }) => ({
      ...rest,
      ...(rule && { rule: viewRule(rule) }),
    })),
  }
}

const readDestination = (
  { destinationPorts }: Vault,
  permission: string,
  text: string,
  issues: Issue[],
): Destination | undefined => {
  const { url, fault } = readDestinationUrl(text, destinationPorts)
  const message = permission === 'token:use' ? fault : 'is only for token:use'
  if (message !== undefined) issues.push({ path: 'destination', message })
  return url
}
