import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openApi } from '../server/src/contract/openapi.ts'
import { clientErrors, clientRoutes, clientTypes } from './client/sources.ts'
import { conformance } from './conformance.ts'
import { reference } from './reference.ts'

const root = join(import.meta.dirname, '..')
const read = (file: string): string => readFileSync(join(root, file), 'utf8')
const readIfThere = (file: string): string | undefined => {
  try {
    return read(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Not only `*.test.ts`: suites shared by several engines, and those that need a cluster, have other names. */
const testSources = () =>
  globSync('server/test/**/*.ts', { cwd: root })
    .map(file => file.replaceAll('\\', '/'))
    .sort()
    .map(file => ({ file, text: read(file) }))

/** Every generated file. All are committed, so that a change of the interface shows up in its diff. */
const generated: Record<string, () => string> = {
  'client/src/generated/errors.ts': clientErrors,
  'client/src/generated/routes.ts': clientRoutes,
  'client/src/generated/types.ts': clientTypes,
  'docs/conformance.md': () => conformance(read('docs/requirements.md'), testSources()),
  'docs/openapi.json': () => `${JSON.stringify(openApi('svc'), null, 2)}\n`,
  'docs/reference.md': reference,
}

const check = process.argv.includes('--check')
for (const [file, make] of Object.entries(generated)) {
  let text: string
  try {
    text = make()
  } catch (error) {
    process.stderr.write(`${file} cannot be generated:\n${error instanceof Error ? error.message : error}\n`)
    process.exitCode = 1
    continue
  }
  if (text === readIfThere(file)) continue
  if (check) {
    process.stderr.write(`${file} is stale: run \`npm run generate\` and commit it\n`)
    process.exitCode = 1
  } else {
    writeFileSync(join(root, file), text)
    process.stdout.write(`${file} written\n`)
  }
}
