/** The processor time that this thread spends on the work, whatever else the machine does meanwhile. */
export const processorMs = (work: () => void): number => {
  const before = process.threadCpuUsage()
  work()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1_000
}
