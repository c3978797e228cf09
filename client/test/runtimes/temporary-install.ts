import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Installs packages into a folder of their own: whoever runs `npm ci` needs none of them. False if one cannot be had. */
export const install = (folder: string, ...packages: string[]): boolean => {
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }')
  const args = ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--no-save', ...packages]
  return spawnSync('npm', args, { cwd: folder, stdio: ['ignore', 'ignore', 'ignore'] }).status === 0
}
