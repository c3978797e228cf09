import { invalid, type VaultError } from '../errors.ts'

/** What is wrong with a query and where (C26). The text is constant; `position` counts characters from 1. */
export const queryFault = (problem: string, position: number): VaultError =>
  invalid({ path: 'query', message: `${problem}, at character ${position}` })
