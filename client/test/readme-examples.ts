import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The examples of the README as one module. Its imports are of `entry`. */
export const readmeExamples = (entry: string): string => {
  const page = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8')
  const code = [...page.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text).join('\n')
  return code.replaceAll("'strongroom-client'", `'${entry}'`)
}
