import { closeSync, fsyncSync, linkSync, lstatSync, openSync, rmSync, writeSync } from 'node:fs'
import { ConfigError } from '../../config/config-error.ts'
import type { ActKind } from '../../domain/acts/act.ts'
import { foreignCode } from '../../domain/foreign-code.ts'
import { counted, printable } from '../../domain/text/terminal.ts'
import { TokenExport } from '../../operations/moving/export-tokens.ts'
import { asOperator } from '../../operations/vault/operator.ts'
import { type Run, required } from '../command.ts'
import { chosenSeal } from '../moving/archive.ts'
import { typedLine } from '../moving/typed.ts'
import { print, printNote } from '../print.ts'
import { progressOn } from '../progress.ts'
import { withVault } from '../storage/with-vault.ts'

const kind: ActKind = { operation: 'export', entityType: 'token' }

export const exportTokens: Run = async invocation => {
  const { config, flags, words } = invocation
  const [file = ''] = words
  const tenantId = required(invocation, 'tenant')
  if (file === '-' && process.stdout.isTTY && flags.plaintext !== true)
    throw new ConfigError('an archive is no text: send standard output into a file, or name one')
  if (file !== '-') requireFree(file)
  const seal = await chosenSeal(invocation)
  return withVault(config, vault =>
    asOperator(vault, tenantId, kind, async operator => {
      if (seal === undefined) await requireTypedName(operator.tenant.name)
      const exporting = new TokenExport(vault, operator, kind)
      const of = await exporting.count()
      const progress = progressOn(process.stderr, { json: flags.json === true, now: () => performance.now() })
      const started = performance.now()
      const report = (): void => {
        const { exported: done } = exporting
        progress.show({ phase: 'export', done, of, rows: done, earlier: 0 })
      }
      const pieces = reported(exporting, report)
      try {
        await writeAll(file, seal === undefined ? pieces : await seal(pieces))
      } finally {
        progress.end()
      }
      const { exported } = exporting
      const { unreadable, unreadableNames } = exporting.unreadable.summary
      const seconds = Math.round(performance.now() - started) / 1_000
      const result = {
        exported,
        sealed: seal !== undefined,
        unreadable,
        unreadable_rows: unreadableNames,
        seconds,
      }
      const text = `${counted(exported, 'token')} exported${seal === undefined ? ' in the clear' : ''}, in ${seconds} s`
      if (file === '-') printNote('export', text)
      else print(flags.json, result, text)
      if (unreadable === 0) return 0
      printNote(
        'export',
        `${counted(unreadable, 'row does', 'rows do')} not open and ${unreadable === 1 ? 'is' : 'are'} not in it: strongroom doctor --deep names them`,
      )
      return 1
    }),
  )
}

async function* reported(exporting: TokenExport, report: () => void): AsyncGenerator<Uint8Array> {
  for await (const piece of exporting.pieces()) {
    report()
    yield Buffer.from(piece)
  }
}

/** Whoever writes every value in the clear says whose they are. */
const requireTypedName = async (name: string): Promise<void> => {
  const typed = await typedLine(
    `all data of this tenant is about to be written in the clear; type its name (${printable(name)}): `,
  )
  if (typed.trim() !== name.trim())
    throw new ConfigError('what was typed is not the name of the tenant: nothing is written')
}

const requireFree = (file: string): void => {
  for (const path of [file, `${file}.part`])
    if (lstatSync(path, { throwIfNoEntry: false }) !== undefined)
      throw new ConfigError(`${path} exists and is not overwritten`)
}

const writeAll = async (file: string, pieces: AsyncIterable<Uint8Array>): Promise<void> => {
  if (file === '-') return writeToOutput(pieces)
  const draft = `${file}.part`
  const descriptor = opened(draft)
  const stopWatching = removeOnSignal(draft)
  try {
    for await (const piece of pieces)
      for (let done = 0; done < piece.length; ) done += writeSync(descriptor, piece, done)
    fsyncSync(descriptor)
    linkSync(draft, file)
  } catch (error) {
    if (foreignCode(error) === 'EEXIST') throw new ConfigError(`${file} exists and is not overwritten`)
    throw error
  } finally {
    closeSync(descriptor)
    rmSync(draft, { force: true })
    stopWatching()
  }
}

const opened = (draft: string): number => {
  try {
    return openSync(draft, 'wx', 0o600)
  } catch (error) {
    throw new ConfigError(`${draft} cannot be written (${foreignCode(error)})`)
  }
}

/** Half an archive is of no use, and in the clear it is worse. The process then ends by the signal itself. */
const removeOnSignal = (draft: string): (() => void) => {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const
  const stopWatching = (): void => {
    for (const signal of signals) process.off(signal, end)
  }
  const end = (signal: NodeJS.Signals): void => {
    stopWatching()
    rmSync(draft, { force: true })
    process.kill(process.pid, signal)
  }
  for (const signal of signals) process.on(signal, end)
  return stopWatching
}

/** Waits until each piece is out of this process, so that no more is read than is taken. */
const writeToOutput = async (pieces: AsyncIterable<Uint8Array>): Promise<void> => {
  for await (const piece of pieces)
    await new Promise<void>((resolve, reject) => {
      process.stdout.write(piece, error =>
        error instanceof Error ? reject(new Error('standard output was closed')) : resolve(),
      )
    })
}
