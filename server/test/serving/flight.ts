import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type Socket, connect as tcpConnect } from 'node:net'
import type { Program, Result } from '../rig/program.ts'

/** A raw connection, so that a request can be sent by halves. */
export class Flight {
  readonly socket: Socket
  readonly closed: Promise<unknown>
  text = ''

  constructor(url: string) {
    this.socket = tcpConnect(Number(new URL(url).port), '127.0.0.1')
    this.socket.setEncoding('utf8').on('data', chunk => {
      this.text += chunk
    })
    // A connection that is cut may end with a reset.
    this.socket.on('error', () => undefined)
    this.closed = new Promise(resolve => this.socket.once('close', resolve))
  }

  static async ofCreate(url: string, apiKey: string, bodyLength: number): Promise<Flight> {
    const flight = new Flight(url)
    await flight.beginCreate(apiKey, bodyLength)
    return flight
  }

  /** Begins a create whose headers have arrived (the server asked for the body) and whose body has not. */
  async beginCreate(apiKey: string, bodyLength: number): Promise<void> {
    this.socket.write(
      `POST /tokens HTTP/1.1\r\nHost: vault\r\nSVC-API-KEY: ${apiKey}\r\nContent-Type: application/json\r\n` +
        `Content-Length: ${bodyLength}\r\nExpect: 100-continue\r\n\r\n`,
    )
    await this.received('HTTP/1.1 100 Continue')
  }

  async received(start: string): Promise<void> {
    while (!this.text.includes(start))
      await Promise.race([once(this.socket, 'data'), this.closed.then(this.#fail)])
  }

  readonly #fail = (): never => assert.fail(`the connection ended with ${this.text}`)
}

/** While the socket closes, a connection may still be accepted or reset. */
export const refusesConnections = async (url: string): Promise<void> => {
  for (let code = ''; code !== 'ECONNREFUSED'; ) {
    const socket = tcpConnect(Number(new URL(url).port), '127.0.0.1')
    code = await once(socket, 'connect').then(
      () => '',
      error => error.code,
    )
    socket.destroy()
  }
}

export const outcome = async (program: Program): Promise<Pick<Result, 'code' | 'signal'>> => {
  const { code, signal } = await program.exited
  return { code, signal }
}
