import { createHash } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { ConfigError } from '../../config/config-error.ts'
import { readNamedFile } from '../../config/named-file.ts'
import type { ActKind } from '../../domain/acts/act.ts'
import { VaultError } from '../../domain/errors.ts'
import type { Json } from '../../domain/json/json.ts'
import { type CsvMapping, CsvMappingError, readMapping } from '../../domain/moving/csv-mapping.ts'
import { type FormName, formNames } from '../../domain/moving/form-name.ts'
import { rowForm } from '../../domain/moving/row-form.ts'
import { counted } from '../../domain/text/terminal.ts'
import { TokenImport } from '../../operations/moving/import-tokens.ts'
import {
  type ImportState,
  importName,
  type KeptImport,
  loadImport,
  newImport,
} from '../../operations/moving/kept-import.ts'
import { OtherFileError, rowBatches } from '../../operations/moving/row-batches.ts'
import { asOperator } from '../../operations/vault/operator.ts'
import type { Caller, Vault } from '../../operations/vault/vault.ts'
import { ReportChangedError } from '../../operations/writing/commit.ts'
import { type Invocation, type Run, required } from '../command.ts'
import { ImportNote, RejectsFile } from '../moving/import-files.ts'
import { type Input, openInput } from '../moving/input.ts'
import { print, printNote } from '../print.ts'
import { progressOn } from '../progress.ts'
import { withVault } from '../storage/with-vault.ts'

const kind: ActKind = { operation: 'import', entityType: 'token' }

/** The exit code of an import that took in all rows but some. */
const someRejected = 3

/** What was asked for, checked before the vault is opened. */
type Asked = {
  readonly invocation: Invocation
  readonly tenantId: string
  readonly file: string
  readonly form: FormName
  readonly mapping: CsvMapping | undefined
  readonly rejects: RejectsFile
  readonly note: ImportNote
  readonly isDry: boolean
  readonly isAgain: boolean
}

type Outcome = { readonly state: ImportState; readonly before: ImportState }

export const importTokens: Run = async invocation => {
  const asked = read(invocation)
  keepHeapsSmall()
  const started = performance.now()
  const input = await openInput(asked.file)
  const { state, before } = await withVault(
    invocation.config,
    vault => asOperator(vault, asked.tenantId, kind, operator => carryOut(vault, operator, asked, input)),
    { writes: 'much' },
  )
  return tell(asked, { state, before }, Math.round(performance.now() - started) / 1_000)
}

/**
 * Young generations of 16 MiB are for requests. An import has two heaps, of this thread and of the writing one, and is as fast with
 * small ones, while it takes 200 MiB and not 290.
 */
const keepHeapsSmall = (): void => {
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--max-semi-space-size=2')
}

const read = (invocation: Invocation): Asked => {
  const { options, flags, words } = invocation
  const [file = ''] = words
  const { rejected } = options
  if (file === '-' && rejected === undefined)
    throw new ConfigError('--rejected is missing: it names the file for rows that are not taken in')
  const form = formNames.find(name => name === (options.from ?? (file.endsWith('.csv') ? 'csv' : 'ndjson')))
  if (form === undefined) throw new ConfigError(`--from must be one of ${formNames.join(', ')}`)
  const path = rejected ?? `${file}.rejected`
  return {
    invocation,
    tenantId: required(invocation, 'tenant'),
    file,
    form,
    mapping: form === 'csv' ? mappingIn(invocation) : noMapping(invocation),
    rejects: new RejectsFile(path),
    note: new ImportNote(`${path.replace(/\.rejected$/, '')}.import`),
    isDry: flags['dry-run'] === true,
    isAgain: flags.again === true,
  }
}

const mappingIn = ({ options: { mapping, separator } }: Invocation): CsvMapping => {
  if (mapping === undefined)
    throw new ConfigError('CSV needs --mapping: a JSON file that says which column is which field')
  let json: Json
  try {
    json = JSON.parse(readNamedFile(mapping))
  } catch (error) {
    throw error instanceof ConfigError ? error : new ConfigError(`${mapping} is not valid JSON`)
  }
  return explaining(() => readMapping(json, separator))
}

const noMapping = ({ options: { mapping, separator } }: Invocation): undefined => {
  if (mapping !== undefined || separator !== undefined)
    throw new ConfigError('--mapping and --separator are for CSV: add --from csv')
}

const explaining = <T>(work: () => T): T => {
  try {
    return work()
  } catch (error) {
    throw explained(error)
  }
}

const explained = (error: unknown): unknown => {
  if (error instanceof CsvMappingError) return new ConfigError(error.message)
  if (error instanceof OtherFileError)
    return new ConfigError('the file is not the one that this import began with: it was changed meanwhile')
  if (error instanceof ReportChangedError)
    return new Error('another run imports the same file: let it end, or run this again to go on')
  if (error instanceof VaultError && error.code === 'unauthorized')
    return new VaultError('notFound', { detail: 'There is no such tenant any more.' })
  return error
}

const carryOut = async (vault: Vault, operator: Caller, asked: Asked, input: Input): Promise<Outcome> => {
  const { invocation, isDry, isAgain, mapping, note, rejects, tenantId } = asked
  const formIs = createHash('sha256')
    .update(JSON.stringify([asked.form, mapping ?? null]))
    .digest('base64')
  const name = importName(operator, input.fileIs)
  const kept: KeptImport = isDry
    ? { name, sealed: null, state: undefined }
    : await loadImport(vault, operator, name)
  if (!isDry && !isAgain) note.requireOurs(tenantId, name)
  const before = beginning(kept, formIs, isAgain)
  if (before.end === 0) rejects.clear()
  if (!isDry && !before.isDone) note.write(tenantId, name)
  const form = rowForm(asked.form, { mapping })
  const running = new TokenImport(vault, operator, { form, kept, state: before, rejects, kind, isDry })
  const progress = progressOn(process.stderr, {
    json: invocation.flags.json === true,
    now: () => performance.now(),
  })
  const report = (state: ImportState): void =>
    progress.show({
      phase: isDry ? 'check' : 'import',
      done: input.readBytes(),
      of: input.size,
      rows: state.imported + state.rejected,
      earlier: before.imported + before.rejected,
    })
  try {
    const batches = rowBatches(await plain(input, invocation), form, before)
    if (before.isDone) await requireSameWhole(batches)
    else await running.run(batches, report)
  } catch (error) {
    throw explained(error)
  } finally {
    operator.act.says({ count: running.state.imported - before.imported })
    progress.end()
    rejects.close()
  }
  if (!isDry && running.state.rejected === 0) note.remove()
  return { state: running.state, before }
}

/** Where the import goes on, or that it is done. */
const beginning = ({ state }: KeptImport, formIs: string, isAgain: boolean): ImportState => {
  if (state === undefined || (state.isDone && isAgain)) return newImport(formIs)
  if (state.form !== formIs)
    throw new ConfigError(
      'the import of this file was begun with another form or mapping: go on with the same, or begin with --again once it is done',
    )
  return state
}

const plain = async (input: Input, invocation: Invocation): Promise<AsyncIterable<Uint8Array>> => {
  const { options } = invocation
  const isKeyed = options.identity !== undefined || options['passphrase-file'] !== undefined
  if (!input.isArchive) {
    if (isKeyed) throw new ConfigError('the file is not sealed: leave out --identity and --passphrase-file')
    return input.chunks
  }
  if (!isKeyed && input.size === undefined)
    throw new ConfigError('the archive is sealed: add --identity or --passphrase-file')
  const { openArchive } = await import('../moving/archive.ts')
  return openArchive(input.chunks, invocation)
}

/** Nothing of a file that was imported whole is imported again, but a file that only begins like it is another. */
const requireSameWhole = async (batches: AsyncIterable<{ rows: readonly unknown[] }>): Promise<void> => {
  for await (const { rows } of batches) if (rows.length > 0) throw new OtherFileError()
}

const tell = (
  { file, invocation, isDry, rejects }: Asked,
  { state, before }: Outcome,
  seconds: number,
): number => {
  const { imported, deduplicated, rejected } = state
  const wasDone = before.isDone
  const result = {
    dry_run: isDry,
    was_done: wasDone,
    resumed_behind_line: before.line,
    imported,
    deduplicated,
    rejected,
    ...(rejected > 0 && { rejected_file: rejects.path }),
    seconds,
  }
  const did = isDry ? 'could be imported' : 'imported'
  const lines = [
    wasDone
      ? `already done: an earlier run imported ${counted(imported, 'token')}; --again imports the file once more`
      : `${counted(imported, 'token')} ${did}${before.line > 0 ? `, ${before.imported} of them by earlier runs` : ''}, in ${seconds} s`,
    ...(deduplicated > 0 ? [`${counted(deduplicated, 'row')} stood for a token that there was`] : []),
  ]
  print(invocation.flags.json, result, lines.join('\n'))
  if (rejected === 0) return 0
  printNote(
    'import',
    `${counted(rejected, 'row')} of ${file === '-' ? 'standard input' : file} rejected: ${rejects.path} says where and why`,
  )
  return someRejected
}
