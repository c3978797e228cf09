/** A bar chart of the ratios to the yardstick, with a mark where a minimum ratio is set. */
export const ratioChart = (bars: readonly { name: string; ratio: number; bar?: number }[]): string => {
  const rowHeight = 28
  const left = 110
  const width = 560
  const height = bars.length * rowHeight + 30
  const x = (ratio: number): number => left + Math.min(1, ratio) * width
  const rows = bars.map(({ name, ratio, bar }, index) => {
    const y = index * rowHeight + 8
    const mark =
      bar === undefined
        ? ''
        : `<line x1="${x(bar)}" x2="${x(bar)}" y1="${y - 3}" y2="${y + 19}" stroke="#b00" stroke-width="2"/>`
    return `<text x="${left - 8}" y="${y + 13}" text-anchor="end">${name}</text>
<rect x="${left}" y="${y}" width="${x(ratio) - left}" height="16" fill="#357"/>${mark}
<text x="${x(ratio) + 6}" y="${y + 13}">${ratio.toFixed(2)}</text>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${left + width + 60}" height="${height}" font-family="sans-serif" font-size="13">
${rows.join('\n')}
<text x="${left}" y="${height - 6}" fill="#555">requests per second, as a share of the yardstick's; red: the bar</text>
</svg>
`
}
