import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { startVault } from '../../../server/src/testing.ts'
import type { Seeded } from '../../../server/test/rig/seeded.ts'
import { temporaryFolder } from '../../../server/test/rig/temporary-folder.ts'
import { Vault } from '../../src/main.ts'

export type Losses = {
  readonly creates: number
  readonly kills: number
  /** What share of the answers is lost: one in this many. */
  readonly oneIn: number
  readonly random: Seeded
}

export type Outcome = {
  /** Tokens in the vault. */
  readonly tokens: number
  /** What the writer was told: tokens by number. */
  readonly told: number
  /** Ids that it was told, without repetitions. */
  readonly ids: number
  readonly requests: number
  readonly lost: number
  readonly killed: number
}

/**
 * A program creates tokens through a proxy that loses answers, after the vault gave them: it ends the connection at once, or within the
 * answer. The program is killed now and then, and started again.
 */
export const loseAnswers = async ({ creates, kills, oneIn, random }: Losses): Promise<Outcome> => {
  const folder = temporaryFolder()
  const vault = await startVault()
  const run = `run-${process.pid}`
  const journal = join(folder.path, 'journal')
  let requests = 0
  let lost = 0
  let killed = 0
  let killAt = Number.POSITIVE_INFINITY
  let writer: ReturnType<typeof spawn> | undefined

  const pass = (incoming: IncomingMessage, answer: ServerResponse): void => {
    const { method, url, headers } = incoming
    const onward = request(vault.base_url + url, { method, headers }, async received => {
      const body = Buffer.concat(await received.toArray())
      requests++
      if (requests >= killAt) {
        killAt = Number.POSITIVE_INFINITY
        writer?.kill('SIGKILL')
      }
      if (random.below(oneIn) > 0) {
        answer.writeHead(received.statusCode ?? 502, received.headers).end(body)
        return
      }
      lost++
      if (random.below(2) === 0) incoming.socket.destroy()
      else {
        answer.writeHead(received.statusCode ?? 502, received.headers)
        answer.write(body.subarray(0, body.length / 2), () => incoming.socket.destroy())
      }
    })
    onward.on('error', () => incoming.socket.destroy())
    incoming.pipe(onward)
  }
  const proxy = createServer(pass)
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`

  try {
    const args = [
      join(import.meta.dirname, 'writer.ts'),
      url,
      vault.keys.api_key,
      journal,
      run,
      String(creates),
    ]
    for (;;) {
      if (killed < kills) killAt = requests + random.between(1, Math.ceil(creates / kills))
      writer = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
      const [code, signal] = await once(writer, 'exit')
      if (signal === 'SIGKILL') killed++
      else if (code === 0) break
      else throw new Error(`the writer ended with ${code}`)
    }
    const lines = existsSync(journal) ? readFileSync(journal, 'utf8').trim().split('\n') : []
    const told = new Map(lines.map(line => line.split(' ') as [string, string]))
    const reader = new Vault({ baseUrl: vault.base_url, apiKey: vault.keys.private_api_key })
    const { pagination } = await reader.tokens.listPage({ metadata: { run } })
    return {
      tokens: pagination.total_items,
      told: told.size,
      ids: new Set(told.values()).size,
      requests,
      lost,
      killed,
    }
  } finally {
    proxy.closeAllConnections()
    proxy.close()
    await vault.stop()
    folder.remove()
  }
}
