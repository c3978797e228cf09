/** Reads a file of the clone, by its path. */
type Read = (path: string) => string

/** Files that name a tarball or the image of a release. */
const naming = [
  'client/README.md',
  'deploy/compose/compose.yaml',
  'deploy/container/Containerfile',
  'deploy/kubernetes/base/kustomization.yaml',
  'docs/install.md',
]

/** What has to be written for a release: each file with its new text. Throws if the changelog does not expect this version. */
export const preparedFiles = (read: Read, version: string, day: string): Map<string, string> => {
  if (!/^\d+\.\d+\.\d+$/.test(version)) throw new Error(`${version} is not a version such as 1.2.3`)
  const changelog = read('CHANGELOG.md')
  const [, first = ''] = /^## (.*)$/m.exec(changelog) ?? []
  if (first !== `${version} (unreleased)`)
    throw new Error(`CHANGELOG.md begins with "## ${first}", not with "## ${version} (unreleased)"`)
  const manifests = ['server', 'client'].map(folder => [folder, JSON.parse(read(`${folder}/package.json`))])
  const lockfile = JSON.parse(read('package-lock.json'))
  const { version: old } = JSON.parse(read('server/package.json'))
  const renamed = (text: string): string =>
    text
      .replaceAll(`strongroom-${old}.tgz`, `strongroom-${version}.tgz`)
      .replaceAll(`strongroom-client-${old}.tgz`, `strongroom-client-${version}.tgz`)
      .replaceAll(`strongroom:${old}`, `strongroom:${version}`)
      .replaceAll(`newTag: ${old}`, `newTag: ${version}`)
  for (const [folder, manifest] of manifests) {
    manifest.version = version
    lockfile.packages[folder].version = version
  }
  return new Map([
    ['CHANGELOG.md', changelog.replace(`## ${first}`, `## ${version} (${day})`)],
    ...manifests.map(([folder, manifest]) => [`${folder}/package.json`, asJson(manifest)] as const),
    ['package-lock.json', asJson(lockfile)],
    ...naming.map(path => [path, renamed(read(path))] as const),
  ])
}

const asJson = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

/** What the changelog says of a version that has a date. */
export const notesOf = (changelog: string, version: string): string => {
  const section = changelog.split(/^## /m).find(text => text.startsWith(`${version} (`))
  const [heading = '', ...lines] = (section ?? '').split('\n')
  if (!/\(\d{4}-\d\d-\d\d\)$/.test(heading))
    throw new Error(
      `CHANGELOG.md has no section "## ${version} (<date>)": npm run release -- prepare ${version} first`,
    )
  return `${lines.join('\n').trim()}\n`
}
