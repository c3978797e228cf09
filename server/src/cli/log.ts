import { fstatSync } from 'node:fs'
import type { Config } from '../config/config.ts'
import type { LogLevel } from '../config/settings.ts'
import type { Log } from '../domain/log.ts'

/** How many characters may wait for a stalled reader: seconds of a busy server at level debug. */
const waitingLengthMax = 1 << 20

/** How long an ending process waits until its last lines are read. */
const lastLinesMs = 1_000

/** Pino's numbers, which tools for logs know. */
const levels = {
  trace: 10,
  debug: 20,
  info: 30,
  warn: 40,
  error: 50,
  fatal: 60,
  silent: Number.POSITIVE_INFINITY,
} as const satisfies Record<LogLevel, number>

/** The log of a process. Unlike the log of a request, it can warn. */
export type ProcessLog = Log & { warn(fields: Record<string, unknown>, message: string): void }

/** `about` is part of every line. */
export const makeLog = ({ logLevel }: Config, about: { readonly worker?: number } = {}): ProcessLog => {
  const lineOf = (level: keyof typeof levels, fields: Record<string, unknown>, msg: string): string =>
    `${JSON.stringify({ level: levels[level], time: Date.now(), ...about, ...fields, msg })}\n`
  const lines = new LogLines(lost => lineOf('warn', { lines: lost }, 'lines of the log were lost'))
  const isEnabled = (level: keyof typeof levels): boolean => levels[level] >= levels[logLevel]
  const at = (level: keyof typeof levels): Log['error'] =>
    isEnabled(level) ? (fields, message) => lines.write(lineOf(level, fields, message)) : () => {}
  return {
    isDebug: isEnabled('debug'),
    error: at('error'),
    warn: at('warn'),
    info: at('info'),
    debug: at('debug'),
  }
}

/** For an ending process: an unread log must not keep it from exiting. */
export const leaveLog = (): void => {
  setTimeout(() => process.exit(), lastLinesMs).unref()
}

/**
 * Writes to standard error, line by line. Neither a full disk nor a stalled reader may stop the vault. Lines that cannot be
 * written are dropped and counted, and the count is logged once there is room. While there is room, a line is written before
 * `write` returns, so the last words before a crash are not lost. Without room, Node does not wait for a pipe or a socket.
 */
class LogLines {
  readonly #aboutLost: (lines: number) => string
  readonly #isFile = isFile(process.stderr.fd)
  readonly #waiting: string[] = []
  #waitingLength = 0
  #lost = 0
  #isTorn = false

  constructor(aboutLost: (lines: number) => string) {
    this.#aboutLost = aboutLost
  }

  write(line: string): void {
    if (this.#waiting.length === 0 && process.stderr.writableLength === 0) this.#send(line)
    else if (this.#waitingLength + line.length > waitingLengthMax) this.#lost++
    else {
      this.#waiting.push(line)
      this.#waitingLength += line.length
    }
  }

  /** Writes one line at a time: workers share a pipe, which keeps at most 4 KiB in one piece. */
  #send(line: string, lines = 1): void {
    process.stderr.write(this.#isTorn ? `\n${line}` : line, error => {
      const hasFailed = error instanceof Error
      // A disk that fills up may have stored half a line.
      this.#isTorn = hasFailed && this.#isFile
      if (hasFailed) this.#lost += lines
      this.#sendWaiting()
      if (hasFailed || this.#lost === 0 || this.#waiting.length > 0) return
      const lost = this.#lost
      this.#lost = 0
      this.#send(this.#aboutLost(lost), lost)
    })
  }

  #sendWaiting(): void {
    while (process.stderr.writableLength === 0) {
      const line = this.#waiting.shift()
      if (line === undefined) break
      this.#waitingLength -= line.length
      this.#send(line)
    }
  }
}

const isFile = (descriptor: number): boolean => {
  try {
    return fstatSync(descriptor).isFile()
  } catch {
    return false
  }
}
