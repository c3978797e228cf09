import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

type Reference = { type: string; url: string }
type Component = {
  'bom-ref': string
  name: string
  version: string
  type: string
  purl: string
  externalReferences: Reference[]
}
type Bill = {
  serialNumber: string
  metadata: { timestamp: string; component: Component }
  components: Component[]
  dependencies: { ref: string; dependsOn: string[] }[]
}

/**
 * What an installation of the package consists of, as CycloneDX. npm's own list of the workspace would miss packages; so this is one
 * of an installation in an empty folder. Time and number follow from what is released, so that two builds agree.
 */
export const billOfMaterials = (
  name: string,
  tarballPath: string,
  tarballBytes: Buffer,
  time: Date,
): string => {
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-bill-'))
  try {
    copyFileSync(tarballPath, join(folder, 'package.tgz'))
    const holder = { name: 'installation', version: '0.0.0', private: true }
    writeFileSync(join(folder, 'package.json'), JSON.stringify(holder))
    npm(folder, 'install', '--ignore-scripts', '--no-audit', '--no-fund', './package.tgz')
    const bill: Bill = JSON.parse(npm(folder, 'sbom', '--sbom-format=cyclonedx', '--omit=dev'))
    return `${JSON.stringify(ofPackage(name, bill, tarballBytes, time), null, 2)}\n`
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const npm = (cwd: string, ...args: string[]): string => {
  const { status, stdout, stderr } = spawnSync('npm', args, { cwd, encoding: 'utf8', maxBuffer: 2 ** 26 })
  if (status !== 0) throw new Error(`npm ${args[0]} failed: ${stderr}`)
  return stdout
}

/** Without the folder that it was installed in: the bill is about the package. */
const ofPackage = (name: string, bill: Bill, bytes: Buffer, time: Date): Bill => {
  const own = bill.components.find(component => component.name === name)
  if (own === undefined) throw new Error('npm sbom does not list the package')
  const { metadata, components, dependencies } = bill
  // Where a package came from is a folder of this machine, or its registry.
  for (const component of components)
    component.externalReferences = component.externalReferences.filter(({ type }) => type !== 'distribution')
  const purl = `pkg:npm/${name}@${own.version}`
  return {
    ...bill,
    serialNumber: `urn:uuid:${uuidOf(bytes)}`,
    metadata: {
      ...metadata,
      timestamp: time.toISOString(),
      component: { ...own, type: name === 'strongroom' ? 'application' : 'library', purl },
    },
    components: components.filter(component => component !== own),
    dependencies: dependencies.filter(({ ref }) => ref !== metadata.component['bom-ref']),
  }
}

/** A UUID of version 8, which leaves the bits to us. */
const uuidOf = (bytes: Buffer): string => {
  const hex = createHash('sha256').update(bytes).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
