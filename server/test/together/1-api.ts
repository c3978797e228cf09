import { loadTests } from '../rig/load-tests.ts'

await loadTests('api', 0)
