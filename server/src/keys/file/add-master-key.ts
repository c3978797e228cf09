import { newMasterKeyText } from '../master-key.ts'
import { replaceMasterKeyFile } from './replace-master-key-file.ts'

/** Puts a new key above those that are there. */
export const addMasterKey = (path: string): void =>
  replaceMasterKeyFile(
    path,
    'put a new one, which strongroom master-key prints, in its first line',
    ({ lines }) => [newMasterKeyText(), ...lines],
  )
