/** How often a scenario and its yardstick take turns, and how long each turn takes. */
export const rounds = Number(process.env.BENCH_ROUNDS ?? 5)
export const seconds = Number(process.env.BENCH_SECONDS ?? 4)

let serial = 1_000_000

/** Where the values of one load begin. It is out of reach of all loads before it, so no value comes twice. */
export const nextSerial = (): number => {
  serial += 10_000_000
  return serial
}
