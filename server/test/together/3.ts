import { takeTests } from '../rig/load-tests.ts'

await takeTests()
