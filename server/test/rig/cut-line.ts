import { connect, createServer, type Server, type Socket } from 'node:net'

/** A connection to a server that the test can cut. */
export class CutLine {
  readonly #server: Server
  readonly #target: { host: string; port: number }
  readonly #open = new Set<Socket>()
  #isSilent = false
  #cut: { readonly when: (sent: Buffer) => boolean; readonly isHeard: boolean } | undefined
  #lost: string | undefined
  #carriedMax = Number.POSITIVE_INFINITY
  #carried = 0

  constructor(target: { host: string; port: number }) {
    this.#target = target
    this.#server = createServer({ allowHalfOpen: true }, near => this.#carry(near))
  }

  async listen(): Promise<number> {
    await new Promise<void>(resolve => this.#server.listen(0, '127.0.0.1', resolve))
    const address = this.#server.address()
    return typeof address === 'object' && address !== null ? address.port : 0
  }

  /** The next matching message ends its connection: before the server hears it, or before its answer arrives. */
  cutOn(when: (sent: Buffer) => boolean, { isHeard }: { isHeard: boolean }): void {
    this.#cut = { when, isHeard }
  }

  /** On the connection that next sends this query, the server hears nothing from there on, though it stays open. */
  loseFrom(query: string): void {
    this.#lost = query
  }

  /** Further connections are turned away, as by a server that has none left to give. */
  carryAtMost(connections: number): void {
    this.#carriedMax = connections
  }

  /** From now on the server hears nothing and closes nothing, like one that hangs. */
  fallSilent(): void {
    this.#isSilent = true
  }

  async close(): Promise<void> {
    for (const socket of this.#open) socket.destroy()
    await new Promise(resolve => this.#server.close(resolve))
  }

  #carry(near: Socket): void {
    if (this.#carried >= this.#carriedMax) return void near.destroy()
    this.#carried++
    near.once('close', () => this.#carried--)
    const far = connect(this.#target)
    let isMute = false
    let isLost = false
    for (const socket of [near, far]) {
      this.#open.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        this.#open.delete(socket)
        near.destroy()
        // The server does not learn that the other side is gone either.
        if (!isLost) far.destroy()
      })
    }
    near.on('end', () => {
      if (!this.#isSilent && !isLost) far.end()
    })
    near.on('data', (sent: Buffer) => {
      if (this.#isSilent || isLost) return
      const lostAt = this.#lost === undefined ? -1 : sent.indexOf(this.#lost)
      if (lostAt >= 0) {
        isLost = true
        this.#lost = undefined
        // In the protocol a letter and a length precede the text of a query.
        return void far.write(sent.subarray(0, lostAt - 5))
      }
      const cut = this.#cut
      if (!cut?.when(sent)) return void far.write(sent)
      this.#cut = undefined
      if (!cut.isHeard) return near.destroy()
      isMute = true
      far.write(sent)
    })
    far.on('data', (answer: Buffer) => {
      if (isMute) near.destroy()
      else near.write(answer)
    })
  }
}
