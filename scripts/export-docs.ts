import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { exportedDocumentation } from '../server/src/http/docs/documentation.ts'

/** npm run docs:export [folder]: the pages of `/docs` as files for any web server. */
const folder = process.argv[2] ?? 'build/docs'
mkdirSync(folder, { recursive: true })
for (const [name, text] of await exportedDocumentation('svc')) writeFileSync(join(folder, name), text)
process.stdout.write(`${folder}/index.html\n`)
