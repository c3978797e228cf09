import assert from 'node:assert/strict'
import { createReadStream, createWriteStream, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { finished } from 'node:stream/promises'
import { setTimeout } from 'node:timers/promises'
import { type Program, Site } from '../rig/program.ts'
import { Seeded } from '../rig/seeded.ts'

export type KillRunOptions = {
  readonly tokens: number
  readonly kills: number
  readonly seed: number
  /** Where the vault is, if not in a folder. */
  readonly databaseUrl?: string
  readonly report?: (line: string) => void
}

/** One row in this many is rejected. */
const badRowEvery = 997
const firstRate = 4_000

/**
 * Imports a file into a new vault while the process is killed again and again, and compares what is there afterwards with the file:
 * every row is in once, every bad row was told once, and the log names every token once.
 */
export const killRun = async ({
  tokens,
  kills,
  seed,
  databaseUrl,
  report,
}: KillRunOptions): Promise<void> => {
  const site = new Site()
  const say = report ?? (() => undefined)
  try {
    const vault = await makeVault(site, databaseUrl)
    const file = join(site.path, 'tokens.ndjson')
    await writeRows(file, tokens)
    const random = new Seeded(seed)
    let killed = 0
    let rate = firstRate
    let peakMiB = 0
    const began = performance.now()
    for (;;) {
      const program = vault.start('import', file, '--tenant', vault.tenant, '--json')
      program.child.stderr?.on('data', () => {
        peakMiB = Math.max(peakMiB, peakOf(program.pid))
      })
      const delayMs = random.below(2_000 * (tokens / (kills + 1) / rate))
      const isKilled = killed < kills && (await kill(program, delayMs))
      const { code, signal, stderr, stdout } = await program.exited
      const last = JSON.parse(stderr.split('\n').findLast(line => line.startsWith('{"phase')) ?? '{}')
      if (last.per_second > 0) rate = last.per_second
      if (isKilled && signal === 'SIGKILL') {
        killed++
        say(`kill ${killed} after about ${last.rows ?? 0} rows`)
        continue
      }
      assert.equal(code, 3, stderr)
      const { was_done, seconds, ...result } = JSON.parse(stdout)
      say(`${JSON.stringify(result)} in ${Math.round((performance.now() - began) / 1_000)} s with all kills`)
      break
    }
    const bad = Math.floor((tokens - 1) / badRowEvery) + 1
    compareRejects(`${file}.rejected`, tokens, bad)
    const ids = await idsInLog(vault)
    assert.equal(ids.size, tokens - bad, 'the log names each token')
    await compareTokens(vault, tokens, ids)
    say(`${killed} kills: ${tokens - bad} tokens and ${bad} rejects, each once; at most ${peakMiB} MiB`)
  } finally {
    await site.remove()
  }
}

type Vault = {
  readonly tenant: string
  readonly path: (name: string) => string
  readonly start: (...args: string[]) => Program
  /** A line for the shell, in which `$VAULT` names the vault. Fails unless it ends with 0. */
  readonly shell: (line: string) => Promise<void>
}

const tenantName = 'Import'

const makeVault = async (site: Site, databaseUrl: string | undefined): Promise<Vault> => {
  const env = databaseUrl === undefined ? {} : { STRONGROOM_DATABASE_URL: databaseUrl }
  const flags = databaseUrl === undefined ? site.vault : site.keys
  const done = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await site.run([...args, ...flags], env)
    assert.equal(code, 0, stderr)
    return stdout
  }
  await done('migrate')
  const { tenant_id: tenant } = JSON.parse(await done('tenant', 'create', '--name', tenantName, '--json'))
  return {
    tenant,
    path: name => join(site.path, name),
    start: (...args) => site.start([...args, ...flags], env),
    shell: async line => {
      const { code, stderr } = await site.shell(line.replace('$VAULT', flags.join(' ')), env)
      assert.equal(code, 0, stderr)
    },
  }
}

const isBad = (row: number): boolean => row % badRowEvery === 0

/** Some have an id, some a cvc, one in many lacks its data. */
const rowText = (row: number): string => {
  if (isBad(row)) return '{"type":"token"}'
  const id = row % 3 === 0 ? `"id":"row_${row}",` : ''
  if (row % 101 === 0)
    return `{${id}"type":"card","data":{"number":"4242424242424242","cvc":"123"},"metadata":{"row":"${row}"}}`
  return `{${id}"type":"token","data":"value of row ${row}","metadata":{"row":"${row}"}}`
}

const writeRows = async (file: string, tokens: number): Promise<void> => {
  const output = createWriteStream(file)
  for (let row = 0; row < tokens; row++)
    if (!output.write(`${rowText(row)}\n`)) await new Promise(resolve => output.once('drain', resolve))
  output.end()
  await finished(output)
}

/** Kills the program a while after its first progress. Resolves with false if it was over before. */
const kill = async (program: Program, delayMs: number): Promise<boolean> => {
  const began = program
    .line('stderr', line => line.startsWith('{"phase'))
    .then(
      () => setTimeout(delayMs, true),
      () => false,
    )
  const isRunning = await Promise.race([began, program.exited.then(() => false)])
  if (isRunning) program.child.kill('SIGKILL')
  return isRunning
}

/** The most memory that the process ever had, where the system tells. */
const peakOf = (pid: number): number => {
  try {
    const [, kiB = '0'] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return Math.round(Number(kiB) / 1_024)
  } catch {
    return 0
  }
}

const compareRejects = (file: string, tokens: number, bad: number): void => {
  const told = readFileSync(file, 'utf8').trimEnd().split('\n')
  const lines = told.map(line => JSON.parse(line))
  assert.equal(lines.length, bad, 'each bad row was told once')
  for (const [at, { line, field, reason }] of lines.entries())
    assert.deepEqual([line, field, reason], [at * badRowEvery + 1, 'data', 'is required'])
  assert.ok((lines.at(-1)?.line ?? 0) <= tokens)
}

async function* linesOf(file: string): AsyncGenerator<string> {
  yield* createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })
}

/** Every id that records of imports name. */
const idsInLog = async ({ shell, path, tenant }: Vault): Promise<Set<string>> => {
  await shell(`strongroom logs export --tenant ${tenant} $VAULT > ${path('log.ndjson')}`)
  const ids = new Set<string>()
  for await (const line of linesOf(path('log.ndjson'))) {
    const { operation, tokens = [] } = JSON.parse(line)
    if (operation !== 'import') continue
    for (const { id } of tokens) {
      assert.ok(!ids.has(id), 'the log names a token twice')
      ids.add(id)
    }
  }
  return ids
}

const compareTokens = async (
  { shell, path, tenant }: Vault,
  tokens: number,
  ids: ReadonlySet<string>,
): Promise<void> => {
  await shell(
    `echo ${tenantName} | strongroom export ${path('all.ndjson')} --plaintext --tenant ${tenant} $VAULT`,
  )
  const seen = new Uint8Array(tokens)
  for await (const line of linesOf(path('all.ndjson'))) {
    const { id, data, metadata } = JSON.parse(line)
    const row = Number(metadata.row)
    assert.ok(ids.has(id), 'a token has no record')
    assert.equal(seen[row], 0, 'a row was imported twice')
    seen[row] = 1
    const sent = JSON.parse(rowText(row))
    if (sent.id !== undefined) assert.equal(id, sent.id)
    if (typeof data === 'string') assert.equal(data, sent.data)
    else assert.deepEqual(data, { number: sent.data.number }, 'a cvc is never exported')
  }
  assert.equal(
    seen.findIndex((count, row) => count === 0 && !isBad(row)),
    -1,
    'a row is missing',
  )
}
