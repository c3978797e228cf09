import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:fs'
import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AnchorSnapshot, ExportVerdict } from '../operations/log/evidence/verify-logs.ts'
import { fileAnchor } from '../store/file-anchor.ts'

const program = join(import.meta.dirname, '../../bin/verify-log.js')

/**
 * Verifies exports with the program that is handed to people who have no vault, so that nothing is verified in two ways. Anchors are
 * copied first: a server may append to them meanwhile, and what it appends is newer than the exports.
 */
export class ExportVerifier {
  readonly anchors: readonly AnchorSnapshot[]
  readonly #key: string
  readonly #folder: string
  readonly #copies: ReadonlyMap<string, string>

  private constructor(
    key: string,
    folder: string,
    copies: ReadonlyMap<string, string>,
    anchors: readonly AnchorSnapshot[],
  ) {
    this.#key = key
    this.#folder = folder
    this.#copies = copies
    this.anchors = anchors
  }

  /** Throws if an anchor cannot be read. */
  static async start(key: string, anchorPaths: readonly string[]): Promise<ExportVerifier> {
    const folder = await mkdtemp(join(tmpdir(), 'strongroom-verify-'))
    const copies = new Map<string, string>()
    const anchors: AnchorSnapshot[] = []
    try {
      for (const [at, path] of anchorPaths.entries()) {
        const copy = join(folder, `anchor-${at}`)
        await copyFile(path, copy, constants.COPYFILE_FICLONE)
        const { name } = fileAnchor(path)
        copies.set(name, copy)
        anchors.push({ name, newest: await fileAnchor(copy).newest() })
      }
    } catch (error) {
      await rm(folder, { recursive: true })
      throw error
    }
    return new ExportVerifier(key, folder, copies, anchors)
  }

  /** Rejects with what the lines throw, and if the verifier could not run. */
  async verify(lines: AsyncIterable<string>, anchor: string | undefined): Promise<ExportVerdict> {
    const copy = anchor === undefined ? undefined : this.#copies.get(anchor)
    const args = [program, '-', '--key', this.#key, ...(copy === undefined ? [] : ['--anchor', copy])]
    // Without our environment, which may hold the master key.
    const child = spawn(process.execPath, args, { env: {}, stdio: ['pipe', 'pipe', 'inherit'] })
    let told = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      told += text
    })
    // One that ends early says why by its exit code.
    child.stdin.on('error', () => {})
    const ended = once(child, 'close') as Promise<[code: number | null]>
    try {
      for await (const piece of lines)
        if (!child.stdin.write(piece)) await Promise.race([once(child.stdin, 'drain'), ended])
      child.stdin.end()
    } catch (error) {
      child.kill('SIGKILL')
      await ended
      throw error
    }
    const [code] = await ended
    if (code === null || code === 1) throw new Error('the verifier of exports could not run')
    return { code, lines: told.split('\n').slice(0, -1) }
  }

  async close(): Promise<void> {
    await rm(this.#folder, { recursive: true })
  }
}
