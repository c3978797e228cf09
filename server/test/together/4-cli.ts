import { loadTests } from '../rig/load-tests.ts'

await loadTests('cli', 0)
