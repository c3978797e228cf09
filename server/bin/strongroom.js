#!/usr/bin/env -S node --max-semi-space-size=16
// The flag: fewer collections of short-lived objects (docs/performance.md).
// Plain JavaScript that old releases of Node can read too: they get one line instead of a stack trace.
const nodeMin = 26
if (Number(process.versions.node.split('.')[0]) >= nodeMin) await import('../src/cli/main.ts')
else {
  console.error(`strongroom: Node ${nodeMin} or newer is needed, this is ${process.version}`)
  process.exitCode = 2
}
