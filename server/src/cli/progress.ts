import type { CopyProgress } from '../operations/copy-vault.ts'

const words = { copy: 'copying', verify: 'verifying' } as const
const barWidth = 30
/** How often a file or pipe is told, in percent. */
const stepPercent = 5

/** A bar that is drawn over itself on a terminal; elsewhere a line now and then, as JSON where that is asked for. */
export const progressOn = (
  stream: Pick<NodeJS.WriteStream, 'write' | 'isTTY'>,
  form: { readonly json: boolean; readonly now: () => number },
): ((progress: CopyProgress) => void) => {
  let phase: CopyProgress['phase'] | undefined
  let told = -1
  let begun = { at: 0, done: 0 }
  return progress => {
    const { done, of } = progress
    if (progress.phase !== phase) {
      phase = progress.phase
      told = -1
      begun = { at: form.now(), done }
    }
    const percent = of === 0 ? 100 : Math.floor((done / of) * 100)
    const isEnd = done === of
    const step = stream.isTTY ? percent : Math.floor(percent / stepPercent)
    if (step === told && !(isEnd && stream.isTTY)) return
    told = step
    const seconds = (form.now() - begun.at) / 1_000
    const perSecond = seconds > 0 ? Math.round((done - begun.done) / seconds) : 0
    if (form.json) {
      stream.write(`${JSON.stringify({ phase, done, of, per_second: perSecond })}\n`)
      return
    }
    const figures = `${percent} %, ${number(done)} of ${number(of)} rows, ${number(perSecond)}/s`
    if (!stream.isTTY) {
      stream.write(`${words[phase]}: ${figures}\n`)
      return
    }
    const filled = Math.round((percent / 100) * barWidth)
    const bar = '█'.repeat(filled) + '░'.repeat(barWidth - filled)
    stream.write(`\r\u001b[K${words[phase].padEnd(9)} ${bar} ${figures}${isEnd ? '\n' : ''}`)
  }
}

const number = (value: number): string => value.toLocaleString('en-US')
