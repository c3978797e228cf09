import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { Vault } from '../../src/main.ts'

/**
 * Creates tokens numbered from 0, several at a time, until it is killed or has made them all. Started again, it goes on with those that
 * are not in its journal. Each has an idempotency key that follows from its number, so no attempt needs to be remembered.
 */
const [baseUrl = '', apiKey = '', journal = '', run = '', count = '0'] = process.argv.slice(2)
const atOnce = 16

// Waits are shorter than for real: what is tested is that they repeat nothing.
const vault = new Vault({ baseUrl, apiKey, retries: 12, wait: ms => wait(ms / 50) })
const done = new Set(
  existsSync(journal)
    ? readFileSync(journal, 'utf8')
        .split('\n')
        .map(line => line.split(' ', 1)[0])
    : [],
)
let next = 0

const create = async (): Promise<void> => {
  while (next < Number(count)) {
    const number = String(next++)
    if (done.has(number)) continue
    const token = { type: 'token', data: `value ${number}`, metadata: { run, number } } as const
    const { id } = await vault.tokens.create(token, { idempotencyKey: `${run}-${number}` })
    appendFileSync(journal, `${number} ${id}\n`)
  }
}
await Promise.all(Array.from({ length: atOnce }, create))
