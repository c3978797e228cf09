import type { Socket } from 'node:net'
import type pg from 'pg'

/** The driver throws on bytes that it cannot read, inside an event handler, where nothing could catch the error. */
export const closeOnUnreadable = (client: pg.Client): void => {
  const connection = client.connection as unknown as { attachListeners(stream: Socket): void }
  const attach = connection.attachListeners
  connection.attachListeners = stream => {
    const { emit } = stream
    stream.emit = (...event: Parameters<typeof emit>) => {
      if (event[0] !== 'data') return emit.apply(stream, event)
      try {
        return emit.apply(stream, event)
      } catch (error) {
        stream.destroy(error as Error)
        return true
      }
    }
    attach.call(connection, stream)
  }
}
