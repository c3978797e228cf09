/** The format of V8's `--cpu-prof`. */
export type CpuProfile = {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
    readonly children?: readonly number[]
  }[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

type Frame = {
  readonly name: string
  readonly kind: Kind
  micros: number
  readonly inner: Map<string, Frame>
}
type Kind = 'vault' | 'dependency' | 'node' | 'engine'

const colours: Record<Kind, string> = { vault: '#5b8', dependency: '#db5', node: '#e96', engine: '#bbb' }
const width = 1_200
const rowHeight = 17
/** Narrower frames are left out, because they would be unreadable. */
const leastWidth = 4

/** A flame graph: the width of a frame is its share of the time, and the frames it calls stand on top of it. */
export const flameGraph = (title: string, profile: CpuProfile): string => {
  const root = tree(profile)
  const rows: string[] = []
  let depth = 0
  const draw = (frame: Frame, x: number, level: number): void => {
    const size = (frame.micros / root.micros) * width
    if (size < leastWidth) return
    depth = Math.max(depth, level)
    rows.push(box(frame, { x, level, size, share: frame.micros / root.micros }))
    let at = x
    for (const inner of [...frame.inner.values()].sort((a, b) => b.micros - a.micros)) {
      draw(inner, at, level + 1)
      at += (inner.micros / root.micros) * width
    }
  }
  draw(root, 0, 0)
  const height = (depth + 2) * rowHeight + 8
  const legend = Object.entries(colours)
    .map(([kind, colour], i) => `<tspan x="${700 + i * 110}" fill="${colour}">■ ${kind}</tspan>`)
    .join('')
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="11">
<text x="4" y="13" font-size="13">${escaped(title)}</text><text y="13">${legend}</text>
<g transform="translate(0 ${rowHeight + 4})">
${rows.join('\n')}
</g>
</svg>
`
}

const box = (
  { name, kind }: Frame,
  { x, level, size, share }: { x: number; level: number; size: number; share: number },
): string => {
  const letters = Math.floor(size / 6.2)
  const label = letters < 3 ? '' : name.length <= letters ? name : `${name.slice(0, letters - 1)}…`
  const y = level * rowHeight
  const text = label && `<text x="${(x + 2).toFixed(1)}" y="${y + 12}">${escaped(label)}</text>`
  return `<g><title>${escaped(name)} ${(share * 100).toFixed(1)} %</title><rect x="${x.toFixed(1)}" y="${y}" width="${(size - 0.5).toFixed(1)}" height="${rowHeight - 1}" fill="${colours[kind]}"/>${text}</g>`
}

const tree = ({ nodes, samples, timeDeltas }: CpuProfile): Frame => {
  const byId = new Map(nodes.map(node => [node.id, node]))
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map(child => [child, id])))
  const root = newFrame('all', 'engine')
  samples.forEach((sample, index) => {
    const micros = timeDeltas[index] ?? 0
    const stack: { name: string; kind: Kind }[] = []
    for (let id: number | undefined = sample; id !== undefined; id = parents.get(id)) {
      const node = byId.get(id)
      if (node !== undefined) stack.unshift(describe(node.callFrame))
    }
    // Waiting is not work. The root itself is drawn as `all`.
    if (stack.at(-1)?.name === '(idle)') return
    root.micros += micros
    let at = root
    for (const { name, kind } of stack.slice(1)) {
      const next: Frame = at.inner.get(name) ?? newFrame(name, kind)
      at.inner.set(name, next)
      next.micros += micros
      at = next
    }
  })
  return root
}

const newFrame = (name: string, kind: Kind): Frame => ({ name, kind, micros: 0, inner: new Map() })

const describe = ({
  functionName,
  url,
}: {
  functionName: string
  url: string
}): Pick<Frame, 'name' | 'kind'> => {
  const [, ours] = url.split('/server/src/')
  const [, dependency] = url.split('/node_modules/')
  if (ours !== undefined) return { name: `${functionName || 'anonymous'} ${ours}`, kind: 'vault' }
  if (dependency !== undefined)
    return { name: `${functionName} ${dependency.split('/')[0]}`, kind: 'dependency' }
  if (url.startsWith('node:')) return { name: `${functionName} ${url}`, kind: 'node' }
  return { name: functionName || '(anonymous)', kind: 'engine' }
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
