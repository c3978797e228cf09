import { card } from './cards.ts'
import type { MeasuredVault } from './processes.ts'

const tokensPerRequest = 1_000
/** Out of reach of the loads (`nextSerial`), so that no card comes twice. */
const firstSerial = 90_000_000_000

/** Fills a vault over HTTP with this many cards, or a few more; returns their ids. */
export const makeTokens = async (vault: MeasuredVault, count: number): Promise<string[]> => {
  const ids: string[] = []
  for (let at = 0; at < count; at += tokensPerRequest) {
    const answer = await fetch(`http://127.0.0.1:${vault.port}/tokenize`, {
      method: 'POST',
      headers: { 'svc-api-key': vault.keys.write, 'content-type': 'application/json' },
      body: JSON.stringify(Array.from({ length: tokensPerRequest }, (_, i) => card(firstSerial + at + i))),
    })
    for (const token of (await answer.json()) as { id: string }[]) ids.push(token.id)
  }
  return ids
}
