import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Answered, Asked } from './resident.ts'

/** Those of other users are apart. */
export type User = { readonly uid?: number; readonly gid?: number }
const idle = new Map<number | undefined, ChildProcess[]>()

/**
 * Carries out a command in a process that is kept for the next one: starting the program takes several times as long as most
 * commands do. Whatever a test says about the process itself (its streams, signals, user, end) needs `Site.start`.
 */
export const runResident = async (asked: Asked, user: User = {}): Promise<Answered> => {
  const mayDo = idle.get(user.uid) ?? []
  idle.set(user.uid, mayDo)
  const resident = mayDo.pop() ?? fork(join(import.meta.dirname, 'resident.ts'), { ...user, execArgv: [] })
  resident.ref()
  resident.channel?.ref()
  const ended = new AbortController()
  try {
    resident.send(asked)
    const answered = await Promise.race([
      once(resident, 'message', ended).then(([answer]) => answer as Answered),
      once(resident, 'exit', ended).then(() =>
        Promise.reject(new Error(`${asked.args.join(' ')} ended its process`)),
      ),
    ])
    mayDo.push(resident)
    return answered
  } finally {
    ended.abort()
    // Idle, it must not keep the tests from ending; it ends with them.
    resident.unref()
    resident.channel?.unref()
  }
}
