import { Socket } from 'node:net'
import { Duplex } from 'node:stream'

/** What takes the bytes of a connection. They are overwritten by the next read, so whatever is kept of them must be copied. */
export type TakeBytes = (bytes: Buffer) => void

/** Makes the socket a stream again, as others expect it to be. */
export type EndSharing = () => void

/** As much as Node reads at a time. */
const room = Buffer.allocUnsafeSlow(65_536)

/**
 * Has what arrives on a new connection read into a buffer that all connections share. Node would allocate 64 KiB for every read, a
 * fourth of what it takes to read a request and write an answer. It offers this (`onread`) for sockets that are made by hand, but
 * not for those that a server accepts, so these are given what those have. If another release of Node works differently, the
 * socket stays a stream. The caller listens for `data` in any case: bytes that it puts back come that way.
 */
export const shareReads = (socket: Socket, take: TakeBytes): EndSharing => {
  const handle = handleOf(socket)
  if (keys === undefined || handle === undefined) return () => {}
  let isShared = true
  handle.useUserBuffer(room)
  Object.assign(socket, {
    [keys.buffer]: room,
    [keys.callback]: (length: number): boolean => {
      const bytes = room.subarray(0, length)
      // Not past bytes that were put back into the stream: several reads of TLS can come at once.
      if (!isShared || socket.readableLength > 0) return socket.push(Buffer.from(bytes))
      take(bytes)
      return true
    },
  })
  return () => {
    isShared = false
    // Its own methods would read on, however much the stream holds.
    const { read, pause, resume } = Duplex.prototype
    Object.assign(socket, { read, pause, resume })
    // The stream asked for bytes when the connection was made, and would wait for them before it asks again.
    socket.push('')
  }
}

type Handle = { useUserBuffer(room: Buffer): void }

const handleOf = (socket: Socket): Handle | undefined => {
  const { _handle: handle } = socket as { _handle?: Partial<Handle> | null }
  return typeof handle?.useUserBuffer === 'function' ? (handle as Handle) : undefined
}

/** Under which symbols Node keeps the two parts of `onread`, learnt from a socket that is made by hand. */
const findKeys = (): { readonly buffer: symbol; readonly callback: symbol } | undefined => {
  const callback = (): boolean => true
  const socket = new Socket({ onread: { buffer: room, callback } })
  const keyOf = (part: unknown): symbol | undefined =>
    Object.getOwnPropertySymbols(socket).find(key => Reflect.get(socket, key) === part)
  const found = { buffer: keyOf(room), callback: keyOf(callback) }
  return found.buffer && found.callback ? { buffer: found.buffer, callback: found.callback } : undefined
}

const keys = findKeys()
