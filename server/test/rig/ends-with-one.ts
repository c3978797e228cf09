import './postgres-cluster.ts'

process.exitCode = 1
