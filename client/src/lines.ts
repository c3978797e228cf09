import { ConnectionError } from './errors.ts'
import { parse } from './exact-json.ts'

/** The lines of an answer of NDJSON, as they arrive. */
export async function* linesOf(response: Response): AsyncGenerator<unknown, void, undefined> {
  const reader = response.body?.getReader()
  if (reader === undefined) return
  const decoder = new TextDecoder()
  let text = ''
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(() => {
        throw new ConnectionError({
          code: 'connection',
          message: 'The answer broke off.',
          advice: 'Go on from the last next.',
        })
      })
      text += done ? decoder.decode() : decoder.decode(value, { stream: true })
      const lines = text.split('\n')
      text = lines.pop() ?? ''
      for (const line of lines) if (line !== '') yield parse(line)
      if (done) break
    }
    // A record without the end of its line may be half of one.
    if (text !== '')
      throw new ConnectionError({
        code: 'connection',
        message: 'The answer broke off.',
        advice: 'Go on from the last next.',
      })
  } finally {
    await reader.cancel().catch(() => {})
  }
}
