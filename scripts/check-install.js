// npm leaves out an optional package that fails its integrity check, or cannot be fetched, and still exits with 0.
// The Node that everything runs on is one of these, so this fails the installation instead. It is plain JavaScript,
// because without that Node an older one runs it.
import { existsSync, readFileSync } from 'node:fs'

const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'))
const libc = process.report.getReport().header.glibcVersionRuntime === undefined ? 'musl' : 'glibc'
const fits = (list, here) => list === undefined || [list].flat().includes(here)

const wanted = Object.entries(packages)
  .filter(([path]) => existsSync(path || '.'))
  .flatMap(([, { optionalDependencies = {} }]) => Object.keys(optionalDependencies))
  .filter(name => {
    const { os, cpu, libc: linkedWith } = packages[`node_modules/${name}`] ?? {}
    return fits(os, process.platform) && fits(cpu, process.arch) && fits(linkedWith, libc)
  })
const missing = wanted.filter(name => !existsSync(`node_modules/${name}`))
if (!wanted.some(name => /^node-/.test(name))) missing.push(`Node for ${process.platform} on ${process.arch}`)

// `npm install --package-lock-only` installs nothing.
if (missing.length > 0 && process.env.npm_config_package_lock_only !== 'true') {
  console.error(`Not installed, or not as package-lock.json has it: ${missing.join(', ')}`)
  process.exitCode = 1
}
