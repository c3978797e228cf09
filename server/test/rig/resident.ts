import { main } from '../../src/cli/main.ts'
import { limits } from '../../src/domain/limits.ts'

/** A process that carries out commands of the program, one after another, for `run-resident.ts`. */
export type Asked = {
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Record<string, string>
}
export type Answered = { readonly code: number; readonly stdout: string; readonly stderr: string }

const written = { stdout: '', stderr: '' }
for (const stream of ['stdout', 'stderr'] as const)
  process[stream].write = (text: string | Uint8Array, ...rest: unknown[]): boolean => {
    written[stream] += typeof text === 'string' ? text : Buffer.from(text).toString()
    const done = rest.at(-1)
    if (typeof done === 'function') done()
    return true
  }

const ordinary = JSON.stringify(limits)

const carryOut = async ({ args, cwd, env }: Asked): Promise<Answered> => {
  process.chdir(cwd)
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, env)
  Object.assign(written, { stdout: '', stderr: '' })
  process.exitCode = undefined
  const code = await main(args)
  // What is loaded keeps the limits that it found.
  if (JSON.stringify(limits) !== ordinary)
    throw new Error('a command with limits of its own needs its own process')
  return { code: Number(process.exitCode || code), ...written }
}

process.on('message', (asked: Asked) => {
  void carryOut(asked).then(answered => process.send?.(answered))
})
