import { type ApplicationType, permissionsByType } from '../../domain/access/permissions.ts'
import { type Issue, requireNone } from '../../domain/errors.ts'
import type { QueryParameter } from '../endpoint.ts'
import { type Page, pageParameters, readPage } from '../paging.ts'
import { allValues, checkNames, type QueryPair, singleValue } from '../query-pairs.ts'
import { Type } from '../type.ts'
import { applicationType } from './schemas.ts'

/** The filters of a list of applications: values of one parameter are ORed, the two parameters ANDed. */
export type ApplicationListQuery = Page & {
  readonly ids?: readonly string[]
  readonly types?: readonly ApplicationType[]
}

export const applicationParameters: readonly QueryParameter[] = [
  { name: 'id', schema: Type.String(), description: 'Ids to return.', repeatable: true },
  { name: 'type', schema: applicationType, description: 'Types to return.', repeatable: true },
  ...pageParameters,
]

/** The query of `GET /applications` (C29). */
export const readApplicationListQuery = (pairs: readonly QueryPair[]): ApplicationListQuery => {
  const issues: Issue[] = []
  checkNames(pairs, applicationParameters, issues)
  const ids = allValues(pairs, 'id')
  const types = allValues(pairs, 'type').flatMap(text => readApplicationType(text, 'type', issues) ?? [])
  const page = readPage(pairs, issues)
  requireNone(issues)
  return { ...page, ...(ids.length > 0 && { ids }), ...(types.length > 0 && { types }) }
}

export const permissionParameters: readonly QueryParameter[] = [
  {
    name: 'application_type',
    schema: applicationType,
    description: 'Only what an application of this type may hold.',
  },
]

/** The query of `GET /permissions` (C29): the type of application whose permissions to list, if given. */
export const readPermissionQuery = (pairs: readonly QueryPair[]): ApplicationType | undefined => {
  const issues: Issue[] = []
  checkNames(pairs, permissionParameters, issues)
  const text = singleValue(pairs, 'application_type', issues)
  const type = text === undefined ? undefined : readApplicationType(text, 'application_type', issues)
  requireNone(issues)
  return type
}

const readApplicationType = (text: string, path: string, issues: Issue[]): ApplicationType | undefined => {
  if (isApplicationType(text)) return text
  issues.push({ path, message: 'is not a type of application' })
  return undefined
}

const isApplicationType = (text: string): text is ApplicationType => Object.hasOwn(permissionsByType, text)
