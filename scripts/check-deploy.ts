import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import manifest from '../server/package.json' with { type: 'json' }
import { packageFiles } from './packing/package-files.ts'
import { tarball } from './packing/tarball.ts'

/**
 * npm run check:deploy: everything in deploy/ that can be tried on this machine. What a program is missing for is named and passed
 * over, so the output says what was checked. As root, it also runs the vault in the image's root folder.
 */
const root = join(import.meta.dirname, '..')
const deploy = join(root, 'deploy')

type Output = { readonly status: number | null; readonly stdout: string; readonly stderr: string }
const run = (command: string, args: readonly string[], input = ''): Output =>
  spawnSync(command, args, { cwd: root, input, encoding: 'utf8', maxBuffer: 2 ** 26 })

const checked = (what: string): void => void process.stdout.write(`checked       ${what}\n`)
const notChecked = (what: string, missing: string): void =>
  void process.stdout.write(`NOT CHECKED   ${what}: ${missing} is missing\n`)

/** The documents of a YAML file. Python's parser, because no package of ours has one. */
const parseYaml = (text: string): unknown[] => {
  const read = 'import json, sys, yaml; print(json.dumps(list(yaml.safe_load_all(sys.stdin))))'
  const { status, stdout, stderr } = run('python3', ['-c', read], text)
  assert.equal(status, 0, stderr)
  return JSON.parse(stdout)
}

// biome-ignore lint/suspicious/noExplicitAny: manifests are looked into freely
type Manifest = any

const checkYaml = (): void => {
  const files = globSync(['deploy/**/*.{yaml,yml}', '.github/**/*.{yaml,yml}'], { cwd: root })
  for (const file of files) assert.ok(parseYaml(readFileSync(join(root, file), 'utf8')).length > 0, file)
  checked(`${files.length} YAML files are YAML`)
}

const checkOverlay = (name: string): void => {
  const { status, stdout, stderr } = run('kubectl', ['kustomize', join(deploy, 'kubernetes/overlays', name)])
  assert.equal(status, 0, stderr)
  const rendered = parseYaml(stdout) as Manifest[]
  const of = (kind: string): Manifest => {
    const [found, second] = rendered.filter(one => one.kind === kind)
    assert.ok(found !== undefined && second === undefined, `${name} has one ${kind}`)
    return found
  }
  const { template, selector } = of('Deployment').spec
  const label = { 'app.kubernetes.io/name': 'strongroom' }
  assert.deepEqual(selector.matchLabels, label)
  assert.deepEqual(template.metadata.labels, label)
  assert.deepEqual(of('Service').spec.selector, label)
  assert.deepEqual(of('PodDisruptionBudget').spec.selector.matchLabels, label)
  const { podSelector, ingress, egress } = of('NetworkPolicy').spec
  assert.deepEqual(podSelector.matchLabels, label)
  assert.deepEqual(
    ingress.map(({ from, ports }: Manifest) => [Object.values(from[0])[0], ports]),
    [
      [{ matchLabels: { 'strongroom-caller': 'true' } }, [{ port: 'http' }]],
      [{ matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } }, [{ port: 'metrics' }]],
    ],
  )
  assert.deepEqual(
    egress.flatMap(({ ports }: Manifest) => ports.map((one: Manifest) => one.port)),
    name === 'postgres' ? [53, 53, 5432] : [],
  )
  // What the standard "restricted" asks for.
  const { securityContext: pod, containers } = template.spec
  const [{ securityContext: container, startupProbe, livenessProbe, readinessProbe, image, env }] = containers
  assert.equal(pod.runAsNonRoot, true)
  assert.equal(pod.runAsUser, 10_001)
  assert.equal(pod.seccompProfile.type, 'RuntimeDefault')
  assert.equal(container.allowPrivilegeEscalation, false)
  assert.equal(container.readOnlyRootFilesystem, true)
  assert.deepEqual(container.capabilities, { drop: ['ALL'] })
  assert.deepEqual(
    [startupProbe, livenessProbe, readinessProbe].map(({ httpGet }: Manifest) => httpGet.path),
    ['/health', '/health', '/ready'],
  )
  assert.equal(image, `strongroom:${manifest.version}`)
  const isSet = (variable: string): boolean => env.some((one: Manifest) => one.name === variable)
  assert.ok(isSet('STRONGROOM_MASTER_KEY'))
  assert.ok(isSet('STRONGROOM_DATA') !== isSet('STRONGROOM_DATABASE_URL'))
  checked(`overlay ${name} renders ${rendered.length} objects; labels, probes, security context`)
}

/** The rules, what names them, and the ConfigMaps of both rules and dashboard. */
const checkWatching = (): void => {
  const rules = join(deploy, 'watching/alerts.yml')
  const { status, stdout, stderr } = run('promtool', ['check', 'rules', rules])
  assert.equal(status, 0, stdout + stderr)
  const tested = run('promtool', ['test', 'rules', join(deploy, 'watching/alerts.test.yml')])
  assert.equal(tested.status, 0, tested.stdout + tested.stderr)
  // Prometheus finds its rules beside its configuration, as compose mounts them.
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-prometheus-'))
  try {
    copyFileSync(rules, join(folder, 'alerts.yml'))
    copyFileSync(join(deploy, 'compose/prometheus.yml'), join(folder, 'prometheus.yml'))
    const checkedConfig = run('promtool', ['check', 'config', join(folder, 'prometheus.yml')])
    assert.equal(checkedConfig.status, 0, checkedConfig.stdout + checkedConfig.stderr)
  } finally {
    rmSync(folder, { recursive: true })
  }
  checked(
    'the alert rules, and the configuration that reads them, are as Prometheus wants them; each alert is raised by its trouble, and none by a quiet server',
  )
}

/** What compose mounts is there. */
const checkMounts = (): void => {
  const [compose] = parseYaml(readFileSync(join(deploy, 'compose/compose.yaml'), 'utf8')) as Manifest[]
  const mounted: string[] = Object.values<Manifest>(compose.services)
    .flatMap(({ volumes = [] }): string[] => volumes)
    .filter(volume => volume.startsWith('.'))
  for (const volume of mounted)
    assert.ok(existsSync(join(deploy, 'compose', volume.split(':')[0] ?? '')), volume)
  checked(`${mounted.length} files that compose mounts are there`)
}

const checkWatchingOverlay = (): void => {
  const { status, stdout, stderr } = run('kubectl', ['kustomize', join(deploy, 'watching')])
  assert.equal(status, 0, stderr)
  const maps = parseYaml(stdout) as Manifest[]
  assert.deepEqual(
    maps.map(({ metadata, data }) => [metadata.name, Object.keys(data)]),
    [
      ['strongroom-alerts', ['alerts.yml']],
      ['strongroom-dashboard', ['dashboard.json']],
    ],
  )
  checked('the dashboard and the rules become ConfigMaps')
}

const checkUnit = (): void => {
  const unit = join(deploy, 'systemd/strongroom.service')
  const { stdout } = run('systemd-analyze', ['security', '--offline=yes', '--no-pager', unit])
  const [, level] = /exposure level for strongroom\.service: ([\d.]+)/.exec(stdout) ?? []
  assert.ok(Number(level) <= 2, `exposure ${level}`)
  checked(`strongroom.service has exposure level ${level} of at most 2.0`)
}

/** The instructions of the Containerfile that say what runs. */
const instruction = (name: string): string[] => {
  const text = readFileSync(join(deploy, 'container/Containerfile'), 'utf8')
  const [, list = ''] = new RegExp(String.raw`^${name}(?: --\S+)*(?: CMD)? (\[.*\])$`, 'm').exec(text) ?? []
  return JSON.parse(list)
}

const freePort = async (): Promise<number> => {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  await once(server.close(), 'close')
  return port
}

const checkContainer = async (): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-image-'))
  try {
    for (const file of ['package.json', 'package-lock.json', 'server/package.json', 'client/package.json']) {
      mkdirSync(join(folder, file, '..'), { recursive: true })
      copyFileSync(join(root, file), join(folder, file))
    }
    writeFileSync(join(folder, 'strongroom.tgz'), tarball(packageFiles()))
    const assemble = join(deploy, 'container/assemble')
    const made = spawnSync('sh', [assemble, process.execPath, 'strongroom.tgz', join(folder, 'image')], {
      cwd: folder,
      encoding: 'utf8',
    })
    assert.equal(made.status, 0, made.stderr)
    checked('the image can be assembled')
    if (process.getuid?.() === 0) await runImage(join(folder, 'image'))
    else notChecked('the vault in the image', 'root')
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** As the container would: its user, its command, nothing to write but its data and /tmp, no shell. */
const runImage = async (image: string): Promise<void> => {
  const folder = join(image, 'root')
  const port = await freePort()
  const mounts = `
    set -e
    mkdir -p var/lib/strongroom tmp proc
    mount --bind . "$PWD"
    cd "$PWD"
    mount -o remount,bind,ro .
    mount -t tmpfs -o mode=700,uid=10001,gid=10001 data var/lib/strongroom
    mount -t tmpfs -o mode=1777 temporary tmp
    mount -t proc proc proc
    exec chroot --userspec=10001:10001 . "$@"`
  const env = {
    STRONGROOM_MASTER_KEY: run(process.execPath, [
      join(root, 'server/bin/strongroom.js'),
      'master-key',
    ]).stdout.trim(),
    STRONGROOM_DATA: '/var/lib/strongroom/data',
    STRONGROOM_KEY_PROVIDER: 'env',
    STRONGROOM_HOST: '0.0.0.0',
    STRONGROOM_PORT: String(port),
  }
  const command = [...instruction('ENTRYPOINT'), ...instruction('CMD')]
  const server: ChildProcess = spawn('unshare', ['--mount', 'sh', '-c', mounts, 'sh', ...command], {
    cwd: folder,
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  server.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const ended = once(server, 'close')
  // It must not outlive this program, whatever ends it.
  const end = (): void => void server.kill('SIGKILL')
  process.once('exit', end)
  /** In the server's own view of the files. */
  const inside = (args: readonly string[]): Output =>
    spawnSync(
      'nsenter',
      [
        `--mount=/proc/${server.pid}/ns/mnt`,
        `--root=/proc/${server.pid}/root`,
        '--setuid=10001',
        '--setgid=10001',
        '--wd=/',
        ...args,
      ],
      { env, encoding: 'utf8' },
    )
  try {
    const health = instruction('HEALTHCHECK').map(word => word.replace(':8080', `:${port}`))
    for (let tries = 0; inside(health).status !== 0; tries++) {
      assert.ok(tries < 50 && server.exitCode === null, said)
      await wait(200)
    }
    checked('the vault starts in the image as user 10001 on a read-only root; the health check is green')
    const made = inside([...instruction('ENTRYPOINT'), 'tenant', 'create', '--name', 'Acme', '--json'])
    assert.equal(made.status, 0, made.stderr)
    const reply = await fetch(`http://127.0.0.1:${port}/tokens`, {
      method: 'POST',
      headers: { 'SVC-API-KEY': JSON.parse(made.stdout).api_key, 'Content-Type': 'application/json' },
      body: '{"type":"token","data":"secret"}',
    })
    assert.equal(reply.status, 201)
    const write = "require('fs').writeFileSync('/opt/x', '')"
    assert.match(inside([instruction('ENTRYPOINT')[0] ?? '', '-e', write]).stderr, /EROFS|EACCES/)
    assert.notEqual(inside(['/bin/sh', '-c', 'true']).status, 0)
    server.kill('SIGTERM')
    const [code] = await ended
    assert.equal(code, 0, said)
    checked('a token is created in it; there is no shell; it stops by SIGTERM with 0')
  } finally {
    if (server.exitCode === null) end()
  }
}

const has = (command: string, ...args: string[]): boolean => run(command, args).status === 0
const hasYaml = has('python3', '-c', 'import yaml')
const hasKubectl = has('kubectl', 'kustomize', '--help')

if (hasYaml) {
  checkYaml()
  checkMounts()
} else notChecked('YAML', 'Python with PyYAML')
if (hasYaml && hasKubectl) {
  for (const name of ['sqlite', 'postgres']) checkOverlay(name)
  checkWatchingOverlay()
} else notChecked('Kubernetes', 'kubectl, or Python with PyYAML')
if (has('promtool', '--version')) checkWatching()
else notChecked('alert rules', 'promtool')
if (has('systemd-analyze', '--version')) checkUnit()
else notChecked('systemd', 'systemd-analyze')
if (process.platform === 'linux') await checkContainer()
else notChecked('the container', 'Linux')
