import { type EndpointId, endpoints } from '../contract/endpoints.ts'
import { requestFamilies } from '../telemetry/families.ts'
import type { Counter, Gauge, Histogram } from '../telemetry/meters.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import type { Exchange } from './exchange.ts'

/** Where the paths that lead to no endpoint are counted, whatever they are and however many. */
type Place = EndpointId | 'none'
const places: readonly Place[] = [...(Object.keys(endpoints) as EndpointId[]), 'none']

/** What is passed through comes with any method. */
const methodOf = (place: EndpointId): { method?: string } => (isPassedThrough(place) ? { method: 'any' } : {})

const isPassedThrough = (place: EndpointId): boolean => 'passesThrough' in endpoints[place]

const labelsOf = (place: Place): string => {
  const { method, path } =
    place === 'none' ? { method: 'any', path: 'none' } : { ...endpoints[place], ...methodOf(place) }
  return `method="${method}",route="${path}"`
}

/** The classes of status that answers of this endpoint can have. What is passed through has any; a preflight is answered with 204. */
const classesOf = (place: Place): readonly number[] =>
  place !== 'none' && (endpoints[place].status >= 300 || isPassedThrough(place)) ? [2, 3, 4, 5] : [2, 4, 5]

const answersOf = (place: Place): string[] =>
  classesOf(place).map(digit => `${labelsOf(place)},status="${digit}xx"`)

/** Counts requests and their answers. */
export class RequestMeters {
  readonly shed: Counter
  readonly rateLimited: Counter
  readonly malformed: Counter
  readonly accepted: Counter
  readonly connections: Gauge
  readonly heldBytes: Gauge
  readonly #abandoned: Counter
  readonly #of: ReadonlyMap<string, EndpointMeters>

  constructor(telemetry: Telemetry) {
    const meters = telemetry.add(requestFamilies, {
      endpoint: places.map(labelsOf),
      answer: places.flatMap(answersOf),
    })
    this.shed = meters.counter('shed')
    this.rateLimited = meters.counter('rateLimited')
    this.malformed = meters.counter('malformed')
    this.accepted = meters.counter('accepted')
    this.connections = meters.gauge('connections')
    this.heldBytes = meters.gauge('heldBytes')
    this.#abandoned = meters.counter('abandoned')
    let answers = 0
    this.#of = new Map(
      places.map((place, endpoint) => {
        const byClass: AnswerMeters[] = []
        for (const digit of classesOf(place)) {
          byClass[digit] = {
            answered: meters.counter('answered', answers),
            seconds: meters.counter('seconds', answers),
          }
          answers++
        }
        return [place, { byClass, duration: meters.histogram('duration', endpoint) }]
      }),
    )
  }

  /** Returns what counts the requests of one endpoint, once each, when all work on them is done. */
  counting(place: string): (exchange: Pick<Exchange, 'status'>, begunAt: number) => void {
    const found = this.#of.get(place)
    if (found === undefined) throw new Error(`no requests are counted at ${place}`)
    const { byClass, duration } = found
    return ({ status }, begunAt) => {
      if (status === undefined) {
        this.#abandoned.add()
        return
      }
      const ms = performance.now() - begunAt
      const ofClass = byClass[Math.floor(status / 100)]
      ofClass?.answered.add()
      ofClass?.seconds.addMs(ms)
      duration.observeMs(ms)
    }
  }
}

type AnswerMeters = { readonly answered: Counter; readonly seconds: Counter }
type EndpointMeters = {
  /** By the first digit of the status. */
  readonly byClass: readonly (AnswerMeters | undefined)[]
  readonly duration: Histogram
}
