import type { Application } from './application.ts'
import type { ApplicationType, Permission } from './permissions.ts'

/** What the text of a key says about the application that it was made for (C30). */
export type KeyKind = ApplicationType | 'general'

const reading: readonly Permission[] = ['token:read', 'token:search']

/**
 * The application's type; but where a private application may read no token, `general`. So whoever finds a key sees whether it opens
 * what the vault keeps. It says what held when the key was made: a key's text does not change with the application's permissions.
 */
export const keyKindOf = ({
  type,
  permissions,
  rules,
}: Pick<Application, 'type' | 'permissions' | 'rules'>): KeyKind => {
  const held = [...permissions, ...rules.flatMap(rule => rule.permissions)]
  return type === 'private' && !held.some(permission => reading.includes(permission)) ? 'general' : type
}
