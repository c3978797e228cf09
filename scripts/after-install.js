// npm leaves out an optional package that fails its integrity check, or cannot be fetched, and still exits with 0.
// The Node that everything runs on is one of these, so this fails the installation instead. It is plain JavaScript,
// because without that Node an older one runs it.
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'

const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'))
const libc = process.report.getReport().header.glibcVersionRuntime === undefined ? 'musl' : 'glibc'
const fits = (list, here) => list === undefined || [list].flat().includes(here)
const forThisPlatform = name => {
  const { os, cpu, libc: linkedWith } = packages[`node_modules/${name}`] ?? {}
  return fits(os, process.platform) && fits(cpu, process.arch) && fits(linkedWith, libc)
}
const wantedBy = path => Object.keys(packages[path].optionalDependencies ?? {}).filter(forThisPlatform)

const missing = Object.keys(packages)
  .filter(path => existsSync(path || '.'))
  .flatMap(wantedBy)
  .filter(name => !existsSync(`node_modules/${name}`))
const [runtime] = wantedBy('')
if (runtime === undefined) missing.push(`Node for ${process.platform} on ${process.arch}`)

// `npm install --package-lock-only` installs nothing.
const isInstalled = process.env.npm_config_package_lock_only !== 'true'
if (missing.length > 0 && isInstalled) {
  console.error(`Not installed, or not as package-lock.json has it: ${missing.join(', ')}`)
  process.exitCode = 1
} else if (isInstalled && !existsSync('node_modules/.bin/node')) {
  // npm 10 makes no link if several packages have a program of this name, even if only one of them is installed.
  mkdirSync('node_modules/.bin', { recursive: true })
  symlinkSync(`../${runtime}/bin/node`, 'node_modules/.bin/node')
}
