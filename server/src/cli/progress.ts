import type { CopyProgress } from '../operations/transfer/copy-vault.ts'

/** Of a file: `done` and `of` are bytes or tokens, by which the time left is told. Without `of` nobody knows how much is to come. */
export type FileProgress = {
  readonly phase: 'import' | 'check' | 'export'
  readonly done: number
  readonly of: number | undefined
  readonly rows: number
  /** Rows of earlier runs. */
  readonly earlier: number
}

export type ProgressDisplay = {
  readonly show: (progress: CopyProgress | FileProgress) => void
  /** Ends an open line, so that the next output begins a new one. */
  readonly end: () => void
}

const words = {
  copy: 'copying',
  verify: 'verifying',
  import: 'importing',
  check: 'checking',
  export: 'exporting',
} as const
const barWidth = 30
/** How often a file or a pipe gets a line; by time where nobody knows how much is to come. */
const linePercent = 5
const linesApartSeconds = 10

/** A bar that is redrawn in place on a terminal. Elsewhere, a line from time to time, as JSON on request. */
export const progressOn = (
  stream: Pick<NodeJS.WriteStream, 'write' | 'isTTY'>,
  { json, now }: { readonly json: boolean; readonly now: () => number },
): ProgressDisplay => {
  const isBar = stream.isTTY && !json
  const opened = now()
  let shown = { phase: '', step: -1 }
  let begun = { at: 0, done: 0, rows: 0 }
  let isLineOpen = false
  const end = (): void => {
    if (isLineOpen) stream.write('\n')
    isLineOpen = false
  }
  const show = (progress: CopyProgress | FileProgress): void => {
    const { phase, done, of } = progress
    const isFile = 'rows' in progress
    const rows = isFile ? progress.rows : done
    if (phase !== shown.phase) {
      end()
      begun = isFile ? { at: opened, done: 0, rows: progress.earlier } : { at: now(), done, rows }
    }
    const seconds = (now() - begun.at) / 1_000
    const percent =
      of === undefined ? undefined : of === 0 ? 100 : Math.min(100, Math.floor((done / of) * 100))
    const step =
      isBar && isFile
        ? Math.floor(seconds * 10)
        : percent === undefined
          ? Math.floor(seconds / linesApartSeconds)
          : isBar
            ? percent
            : Math.floor(percent / linePercent)
    if (phase === shown.phase && step === shown.step) return
    shown = { phase, step }
    const perSecond = seconds > 0 ? Math.round((rows - begun.rows) / seconds) : 0
    const left =
      of === undefined || done <= begun.done
        ? undefined
        : Math.ceil(((of - done) / (done - begun.done)) * seconds)
    if (json) {
      const more = isFile ? { rows, ...(left !== undefined && { seconds_left: left }) } : {}
      stream.write(`${JSON.stringify({ phase, done, of, ...more, per_second: perSecond })}\n`)
      return
    }
    const share = percent === undefined ? '' : `${percent} %, `
    const figures = isFile
      ? `${share}${grouped(rows)} rows, ${grouped(perSecond)}/s${left === undefined ? '' : `, ${duration(left)} left`}`
      : `${share}${grouped(done)} of ${grouped(of ?? 0)} rows, ${grouped(perSecond)}/s`
    const drawn = percent === undefined ? '' : `${bar(percent)} `
    stream.write(
      isBar ? `\r\u001b[K${words[phase].padEnd(9)} ${drawn}${figures}` : `${words[phase]}: ${figures}\n`,
    )
    isLineOpen = isBar
  }
  return { show, end }
}

const bar = (percent: number): string => {
  const filled = Math.round((percent / 100) * barWidth)
  return '█'.repeat(filled) + '░'.repeat(barWidth - filled)
}

const duration = (seconds: number): string => {
  const minutes = Math.floor(seconds / 60)
  return minutes === 0
    ? `${seconds} s`
    : minutes < 60
      ? `${minutes} min ${seconds % 60} s`
      : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

const grouped = (value: number): string => value.toLocaleString('en-US')
