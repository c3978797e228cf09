import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'

type Parsed = {
  readonly name: string
  readonly help: string
  readonly type: string
  readonly metrics: readonly { readonly value: string; readonly labels?: Readonly<Record<string, string>> }[]
}
type Sample = {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Not by us, so that our reading of the format is not tested against itself. It has no types. */
const parse: (text: string) => readonly Parsed[] = createRequire(import.meta.url)(
  'parse-prometheus-text-format',
)

/** What a scraper gets. */
export class Scrape {
  readonly text: string
  readonly families: readonly Pick<Parsed, 'name' | 'help' | 'type'>[]
  readonly samples: readonly Sample[]

  constructor(text: string) {
    this.text = text
    this.families = parse(text)
    for (const { name, help, type } of this.families) {
      assert.ok(help !== '' && ['COUNTER', 'GAUGE', 'HISTOGRAM'].includes(type), name)
      assert.equal(this.families.filter(family => family.name === name).length, 1, name)
    }
    // It makes one histogram of all those of a family. Line by line, it does not know that they are histograms.
    this.samples = parse(text.replace(/^#.*\n/gm, '')).flatMap(({ name, metrics }) =>
      metrics.map(({ value, labels = {} }) => ({ name, labels, value: Number(value) })),
    )
    assert.equal(this.samples.length, this.series.length)
    assert.ok(this.samples.every(({ value }) => !Number.isNaN(value)))
  }

  static async of(url: string, headers: Record<string, string> = {}): Promise<Scrape> {
    const reply = await fetch(url, { headers })
    assert.equal(reply.status, 200)
    assert.equal(reply.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
    return new Scrape(await reply.text())
  }

  /** The lines that are no comments: what is stored as a series of its own. */
  get series(): string[] {
    return this.text.split('\n').filter(line => line !== '' && !line.startsWith('#'))
  }

  /** All names by which a query may ask for something. */
  get names(): Set<string> {
    return new Set(this.samples.map(({ name }) => name))
  }

  /** The sum over all series that have these labels. */
  sum(name: string, labels: Readonly<Record<string, string>> = {}): number {
    const found = this.samples.filter(sample => sample.name === name)
    assert.ok(found.length > 0, `there is no ${name}`)
    return found
      .filter(({ labels: own }) => Object.entries(labels).every(([label, value]) => own[label] === value))
      .reduce((sum, { value }) => sum + value, 0)
  }

  /** What must not fall, by name and labels. */
  get counters(): Map<string, number> {
    const gauges = new Set(this.families.filter(({ type }) => type === 'GAUGE').map(({ name }) => name))
    return new Map(
      this.samples
        .filter(({ name }) => !gauges.has(name))
        .map(({ name, labels, value }) => [`${name} ${JSON.stringify(labels)}`, value]),
    )
  }

  /** Fails if a counter is lower than it was. */
  assertNotBelow(before: Scrape): void {
    const now = this.counters
    for (const [name, value] of before.counters)
      assert.ok((now.get(name) ?? Number.NaN) >= value, `${name} fell from ${value} to ${now.get(name)}`)
  }
}

/** What Prometheus itself says of a text, or undefined if its tool is not installed. */
export const promtoolSays = (args: readonly string[], input = ''): string | undefined => {
  const { error, status, stdout, stderr } = spawnSync('promtool', args, { input, encoding: 'utf8' })
  if (error !== undefined) return undefined
  return status === 0 ? '' : stdout + stderr
}
