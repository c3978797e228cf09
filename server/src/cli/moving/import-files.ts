import {
  closeSync,
  existsSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { ConfigError } from '../../config/config-error.ts'
import { foreignCode } from '../../domain/foreign-code.ts'
import { shellWord } from '../../domain/text/terminal.ts'
import type { Reject, RejectsSink } from '../../operations/moving/import-tokens.ts'

/** A file of lines of JSON, made when the first row is rejected. It says where and why, and holds no value. */
export class RejectsFile implements RejectsSink {
  readonly path: string
  #file: number | undefined

  constructor(path: string) {
    this.path = path
  }

  put(rejects: readonly Reject[], at: number): number {
    if (rejects.length === 0 && this.#file === undefined && at === 0) return 0
    this.#file ??= this.#open()
    const lines = Buffer.from(rejects.map(reject => `${JSON.stringify(reject)}\n`).join(''))
    // Behind this place may be rejects of a batch that was not stored.
    ftruncateSync(this.#file, at)
    for (let done = 0; done < lines.length; )
      done += writeSync(this.#file, lines, done, lines.length - done, at + done)
    if (lines.length > 0) fsyncSync(this.#file)
    return at + lines.length
  }

  /** For an import that begins: what another one has left here goes. */
  clear(): void {
    rmSync(this.path, { force: true })
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file)
  }

  #open(): number {
    try {
      return openSync(this.path, existsSync(this.path) ? 'r+' : 'wx+', 0o600)
    } catch (error) {
      throw new ConfigError(
        `${this.path} cannot be written (${foreignCode(error)}): --rejected names another file`,
      )
    }
  }
}

/** Which import a file began with: beside the file, so that it is not taken into another vault half way. */
export class ImportNote {
  readonly path: string

  constructor(path: string) {
    this.path = path
  }

  /** Throws if the file of this name belongs to another import. */
  requireOurs(tenantId: string, name: string): void {
    const text = existsSync(this.path) ? readFileSync(this.path, 'utf8') : undefined
    if (text === undefined) return
    const { tenant_id: tenant, import: began } = readNote(text)
    const what =
      tenant !== tenantId ? 'into another tenant or vault' : began !== name ? 'with other content' : undefined
    if (what !== undefined)
      throw new ConfigError(
        `the import of this file was begun ${what}, says ${this.path}: finish that one, put corrected rows into a file of their own, or add --again to begin this one`,
      )
  }

  write(tenantId: string, name: string): void {
    const draft = `${this.path}.part`
    try {
      writeFileSync(draft, `${JSON.stringify({ tenant_id: tenantId, import: name })}\n`, {
        mode: 0o600,
        flush: true,
      })
      renameSync(draft, this.path)
    } catch (error) {
      throw new ConfigError(
        `${this.path} cannot be written (${foreignCode(error)}): --rejected ${shellWord('/another/folder/name.rejected')} puts it there`,
      )
    }
  }

  remove(): void {
    rmSync(this.path, { force: true })
  }
}

const readNote = (text: string): { tenant_id?: unknown; import?: unknown } => {
  try {
    const note: unknown = JSON.parse(text)
    return typeof note === 'object' && note !== null ? note : {}
  } catch {
    return {}
  }
}
