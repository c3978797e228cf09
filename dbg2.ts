import { fuzzWire } from './server/test/fuzz/fuzz-wire.ts'
const c = process.cpuUsage()
await fuzzWire({ seed: Number(process.argv[2]), runs: Number(process.argv[3]) })
console.log('ok', process.cpuUsage(c))
