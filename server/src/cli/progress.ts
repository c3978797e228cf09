import type { CopyProgress } from '../operations/transfer/copy-vault.ts'

export type ProgressDisplay = {
  readonly show: (progress: CopyProgress) => void
  /** Ends an open line, so that the next output begins a new one. */
  readonly end: () => void
}

const words = { copy: 'copying', verify: 'verifying' } as const
const barWidth = 30
/** How often a file or a pipe gets a line. */
const linePercent = 5

/** A bar that is redrawn in place on a terminal. Elsewhere, a line from time to time, as JSON on request. */
export const progressOn = (
  stream: Pick<NodeJS.WriteStream, 'write' | 'isTTY'>,
  { json, now }: { readonly json: boolean; readonly now: () => number },
): ProgressDisplay => {
  const isBar = stream.isTTY && !json
  let shown = { phase: '', step: -1 }
  let begun = { at: 0, done: 0 }
  let isLineOpen = false
  const end = (): void => {
    if (isLineOpen) stream.write('\n')
    isLineOpen = false
  }
  const show = ({ phase, done, of }: CopyProgress): void => {
    if (phase !== shown.phase) {
      end()
      begun = { at: now(), done }
    }
    const percent = of === 0 ? 100 : Math.floor((done / of) * 100)
    const step = isBar ? percent : Math.floor(percent / linePercent)
    if (phase === shown.phase && step === shown.step) return
    shown = { phase, step }
    const seconds = (now() - begun.at) / 1_000
    const perSecond = seconds > 0 ? Math.round((done - begun.done) / seconds) : 0
    if (json) {
      stream.write(`${JSON.stringify({ phase, done, of, per_second: perSecond })}\n`)
      return
    }
    const figures = `${percent} %, ${grouped(done)} of ${grouped(of)} rows, ${grouped(perSecond)}/s`
    stream.write(
      isBar
        ? `\r\u001b[K${words[phase].padEnd(9)} ${bar(percent)} ${figures}`
        : `${words[phase]}: ${figures}\n`,
    )
    isLineOpen = isBar
  }
  return { show, end }
}

const bar = (percent: number): string => {
  const filled = Math.round((percent / 100) * barWidth)
  return '█'.repeat(filled) + '░'.repeat(barWidth - filled)
}

const grouped = (value: number): string => value.toLocaleString('en-US')
