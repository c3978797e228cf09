import { createInterface } from 'node:readline'
import { ConfigError } from '../../config/config-error.ts'

const enter = new Set(['\r', '\n', '\u0004'])
const interrupt = '\u0003'
const erase = new Set(['\u007f', '\b'])

/** The first line of standard input, which a terminal is asked for. */
export const typedLine = async (question: string): Promise<string> => {
  if (process.stdin.isTTY) process.stderr.write(question)
  const lines = createInterface({ input: process.stdin, terminal: false })
  try {
    for await (const line of lines) return line
    throw new ConfigError('standard input ended before anything was typed')
  } finally {
    lines.close()
  }
}

/** What is typed at a terminal without being shown there. */
export const typedSecret = async (question: string): Promise<string> => {
  const { stdin, stderr } = process
  if (!stdin.isTTY)
    throw new ConfigError('a passphrase is typed at a terminal: set --passphrase-file instead')
  // Before it is asked for: what is typed at once must not be shown either.
  stdin.setRawMode(true)
  stderr.write(question)
  stdin.setEncoding('utf8')
  stdin.resume()
  try {
    return await new Promise<string>((resolve, reject) => {
      let typed = ''
      const hear = (text: string): void => {
        for (const character of text) {
          if (character === interrupt || enter.has(character)) {
            stdin.off('data', hear)
            if (character === interrupt) reject(new ConfigError('stopped'))
            else resolve(typed)
            return
          }
          typed = erase.has(character) ? typed.slice(0, -1) : typed + character
        }
      }
      stdin.on('data', hear)
    })
  } finally {
    stdin.setRawMode(false)
    stdin.pause()
    stderr.write('\n')
  }
}
