import type { Sent } from './request-path.ts'

export type Explained = { readonly sent: Sent; readonly plan: readonly string[] }

/** What docs/scaling.md shows of a run: a table of all statements, then each with its plan. */
export const explainedMarkdown = (all: readonly Explained[]): string =>
  `| reads | asked by | tasks |\n|---|---|---|\n${all.map(tableRow).join('')}\n${all.map(inFull).join('\n')}`

const tableRow = ({ sent, plan }: Explained): string =>
  `| ${whatIsRead(sent, plan)} | ${[...sent.by].join(', ')} | ${taskCount(plan) ?? "the coordinator's own"} |\n`

const whatIsRead = ({ text }: Sent, plan: readonly string[]): string => {
  const [, called] = /^SELECT (\w+_(?:abort|undo))\(/.exec(text) ?? []
  if (called !== undefined) return `\`${called}\``
  // A shard is named after its table, with a number.
  const tables = plan.flatMap(line => / on ([a-z_]+)_\d+/.exec(line)?.[1] ?? [])
  return [...new Set(tables)].map(table => `\`${table}\``).join(', ')
}

export const taskCount = (plan: readonly string[]): string | undefined =>
  plan.map(line => /^ *Task Count: (\d+)$/.exec(line)?.[1]).find(count => count !== undefined)

const inFull = ({ sent, plan }: Explained): string => {
  const lines = plan.map(line => line.replace(/ dbname=\S+/, ''))
  return `\`\`\`\n${sent.text.replace(/\s+/g, ' ').trim()}\n\n${lines.join('\n')}\n\`\`\`\n`
}
