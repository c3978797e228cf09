import type { Attack } from './attack.ts'
import { afterMs, type Seen } from './beside.ts'
import type { Sample } from './generator.ts'

/** C37, and what it means for memory and for the attacker. */
const p95CalmTimes = 5
const p95FreeMs = 100
const worstMaxMs = 1_000
const answeredShareMin = 0.995
const memoryMaxMiB = 256
const calmWithinMs = 1_000
const outcomesAllowed = /^(?:2\d\d|400|413|503|opened)$/
/** A generator that is this late itself measures the machine, and so does a run that shares it with other programs. */
const lateMaxMs = 50
const othersShareMax = 0.05

export const columns = [
  { name: 'name', title: 'attack', width: 20 },
  { name: 'key', title: 'key', width: 15 },
  { name: 'calm', title: 'calm p95', width: 8 },
  { name: 'p95', title: 'p95 of worst', width: 14 },
  { name: 'worst', title: 'worst', width: 7 },
  { name: 'answered', title: 'answered', width: 8 },
  { name: 'again', title: 'calm again', width: 10 },
  { name: 'memory', title: 'memory', width: 9 },
  { name: 'outcomes', title: 'attacker', width: 44 },
  { name: 'complaints', title: 'failed', width: 0 },
] as const
type Row = Readonly<Record<(typeof columns)[number]['name'], string>>

/** A row of the table. Without complaints, nobody noticed. */
export const judge = (attack: Attack, seen: Seen): Row => {
  const { calmFrom, calmUntil, attackFrom, samples, memory, report, ends, othersShare } = seen
  const { endedAt, tally } = report
  const of = (from: number, until: number, kind?: string): Sample[] =>
    samples.filter(
      sample => sample.at >= from && sample.at < until && kind === (kind === undefined ? kind : sample.kind),
    )
  const kinds = [...new Set(samples.map(({ kind }) => kind))].map(kind => {
    const calm = p95(of(calmFrom, calmUntil, kind).map(({ ms }) => ms))
    const limit = Math.max(p95CalmTimes * calm, p95FreeMs)
    return { kind, calm, limit, during: p95(of(attackFrom, endedAt, kind).map(({ ms }) => ms)) }
  })
  const worstKind = kinds.reduce((a, b) => (b.during / b.limit > a.during / a.limit ? b : a))
  const isSlow = ({ kind, ms, status }: Sample): boolean =>
    !isAnswered({ status }) || ms > (kinds.find(one => one.kind === kind)?.limit ?? 0)

  const touched = of(attackFrom, Number.POSITIVE_INFINITY)
  const worst = Math.max(...touched.map(({ ms }) => ms))
  const answered = touched.filter(isAnswered).length / touched.length
  const againMs = calmAgain(of(endedAt, Number.POSITIVE_INFINITY), endedAt, isSlow)
  const highest = (from: number, until: number): number =>
    Math.max(0, ...memory.filter(({ at }) => at >= from && at < until).map(({ mib }) => mib))
  const grown = highest(attackFrom, Number.POSITIVE_INFINITY) - highest(calmFrom, calmUntil)
  const lateMs = Math.max(...touched.map(({ late }) => late))
  const wrong = Object.keys(tally).filter(
    outcome => !outcomesAllowed.test(outcome) && !attack.also?.includes(outcome),
  )
  const complaints: readonly (readonly [boolean, string])[] = [
    [kinds.some(({ during, limit }) => during > limit), 'p95'],
    [worst > worstMaxMs, 'worst'],
    [answered < answeredShareMin, 'answered'],
    [againMs > calmWithinMs, 'calm again'],
    [grown > memoryMaxMiB, 'memory'],
    [wrong.length > 0, `attacker got ${wrong.join(', ')}`],
    [ends.length > 0, ends.join(' ')],
    [attack.connections > 0 && tally.opened === undefined, 'the attack did not begin'],
  ]
  return {
    name: attack.name,
    key: attack.key,
    calm: ms(worstKind.calm),
    p95: `${ms(worstKind.during)} ${worstKind.kind}`,
    worst: ms(worst),
    answered: `${(answered * 100).toFixed(1)} %`,
    again: againMs > afterMs ? 'never' : ms(againMs),
    memory: `${grown.toFixed(0)} MiB`,
    outcomes: [
      ...Object.entries(tally).map(([outcome, count]) => `${count} × ${outcome}`),
      ...(lateMs > lateMaxMs ? [`generator late by ${ms(lateMs)}`] : []),
      ...(othersShare > othersShareMax ? [`other programs took ${(othersShare * 100).toFixed(0)} %`] : []),
    ].join(', '),
    complaints: complaints.flatMap(([isFailed, text]) => (isFailed ? [text] : [])).join('; '),
  }
}

const isAnswered = ({ status }: { status: number }): boolean => status >= 200 && status < 300

/** After how long all was answered, and no more than one request in twenty was slow: some are slow on any machine. */
const calmAgain = (
  after: readonly Sample[],
  endedAt: number,
  isSlow: (sample: Sample) => boolean,
): number => {
  for (let waited = 0; waited < afterMs; waited += 50) {
    const rest = after.filter(({ at }) => at >= endedAt + waited)
    const slow = rest.filter(isSlow).length
    if (rest.length > 0 && slow <= rest.length / 20 && rest.every(isAnswered)) return waited
  }
  return Number.POSITIVE_INFINITY
}

const p95 = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.ceil(values.length * 0.95) - 1] ?? Number.POSITIVE_INFINITY

const ms = (value: number): string => `${value.toFixed(value < 10 ? 1 : 0)} ms`
