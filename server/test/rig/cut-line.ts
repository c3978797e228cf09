import { connect, createServer, type Server, type Socket } from 'node:net'

/** A line to a server that the test can cut. */
export class CutLine {
  readonly #server: Server
  readonly #target: { host: string; port: number }
  readonly #open = new Set<Socket>()
  #isSilent = false
  #cut: { readonly when: (sent: Buffer) => boolean; readonly isHeard: boolean } | undefined

  constructor(target: { host: string; port: number }) {
    this.#target = target
    this.#server = createServer({ allowHalfOpen: true }, near => this.#carry(near))
  }

  async listen(): Promise<number> {
    await new Promise<void>(resolve => this.#server.listen(0, '127.0.0.1', resolve))
    const address = this.#server.address()
    return typeof address === 'object' && address !== null ? address.port : 0
  }

  /** The next message of this kind ends its connection: before the server hears it, or before its answer comes. */
  cutOn(when: (sent: Buffer) => boolean, { isHeard }: { isHeard: boolean }): void {
    this.#cut = { when, isHeard }
  }

  /** From now on the server hears nothing and closes nothing, as one that hangs. */
  fallSilent(): void {
    this.#isSilent = true
  }

  async close(): Promise<void> {
    for (const socket of this.#open) socket.destroy()
    await new Promise(resolve => this.#server.close(resolve))
  }

  #carry(near: Socket): void {
    const far = connect(this.#target)
    let isMute = false
    for (const socket of [near, far]) {
      this.#open.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        this.#open.delete(socket)
        near.destroy()
        far.destroy()
      })
    }
    near.on('end', () => {
      if (!this.#isSilent) far.end()
    })
    near.on('data', (sent: Buffer) => {
      if (this.#isSilent) return
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
