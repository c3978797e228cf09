import { readdirSync, readFileSync } from 'node:fs'

/** From the kernel's own accounting, in ticks of 10 ms; it is independent of how busy the machine is otherwise. */
export const cpuMicroseconds = (pid: number): number => ownTime(`/proc/${pid}`)

/** The same for all processes that this one has started, including those that have ended. */
export const childrenCpuMicroseconds = (pid: number): number =>
  childrenOf(pid).reduce((sum, child) => sum + cpuMicroseconds(child), timeAt(13, `/proc/${pid}`))

/** The same for each thread of a process and of the processes that it has started. */
export const threadMicroseconds = (pid: number): ReadonlyMap<string, number> =>
  new Map(
    [pid, ...childrenOf(pid)].flatMap(owner => {
      const threads = `/proc/${owner}/task`
      return readdirSync(threads).map(thread => [thread, ownTime(`${threads}/${thread}`)] as const)
    }),
  )

export const parentOf = (pid: number): number | undefined => {
  try {
    return Number(statFields(`/proc/${pid}`)[1])
  } catch {
    // The process has ended meanwhile.
    return undefined
  }
}

const childrenOf = (pid: number): number[] =>
  readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number)
    .filter(each => parentOf(each) === pid)

const ownTime = (folder: string): number => timeAt(11, folder)

/** User and system time, the one right before the other. */
const timeAt = (field: number, folder: string): number => {
  const fields = statFields(folder)
  return (Number(fields[field]) + Number(fields[field + 1])) * 10_000
}

const statFields = (folder: string): string[] =>
  readFileSync(`${folder}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
