import { type Issue, invalid } from '../domain/errors.ts'
import { type ApplicationType, permissionsByType } from '../domain/permissions.ts'
import {
  type Page,
  pageParameters,
  type QueryPair,
  readPage,
  singleValue,
  unknownParameter,
} from './page-query.ts'

/** What a list of applications is narrowed to: values of one parameter are ORed, both parameters ANDed. */
export type ApplicationListQuery = Page & {
  readonly ids?: readonly string[]
  readonly types?: readonly string[]
}

/** The query of `GET /applications` (C29). */
export const readApplicationListQuery = (pairs: readonly QueryPair[]): ApplicationListQuery => {
  const issues: Issue[] = []
  refuseUnknown(pairs, ['id', 'type', ...pageParameters], issues)
  const valuesOf = (name: string): string[] =>
    pairs.filter(pair => pair.name === name).map(({ value }) => value)
  const ids = valuesOf('id')
  const types = valuesOf('type').filter(type => isApplicationType(type, 'type', issues))
  const page = readPage(pairs, issues)
  if (issues.length > 0) throw invalid(...issues)
  return { ...page, ...(ids.length > 0 && { ids }), ...(types.length > 0 && { types }) }
}

/** The query of `GET /permissions` (C29): the type of application that they are asked for. */
export const readPermissionQuery = (pairs: readonly QueryPair[]): ApplicationType | undefined => {
  const issues: Issue[] = []
  refuseUnknown(pairs, ['application_type'], issues)
  const type = singleValue(pairs, 'application_type', issues)
  const known = type !== undefined && isApplicationType(type, 'application_type', issues) ? type : undefined
  if (issues.length > 0) throw invalid(...issues)
  return known
}

const refuseUnknown = (pairs: readonly QueryPair[], known: readonly string[], issues: Issue[]): void => {
  pairs.forEach(({ name }, index) => {
    if (!known.includes(name)) issues.push(unknownParameter(name, index, known))
  })
}

const isApplicationType = (text: string, path: string, issues: Issue[]): text is ApplicationType => {
  const isOne = Object.hasOwn(permissionsByType, text)
  if (!isOne) issues.push({ path, message: 'is not a type of application' })
  return isOne
}
