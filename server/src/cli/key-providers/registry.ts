import type { KeyProviderName } from '../../config/settings.ts'
import { env } from './env.ts'
import { file } from './file.ts'
import type { KeyProviderKind } from './key-provider-kind.ts'

export const keyProviders: Readonly<Record<KeyProviderName, KeyProviderKind>> = { file, env }
