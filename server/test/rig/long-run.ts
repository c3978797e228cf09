/** In `npm run test:long`, properties are tried more often, and every engine runs what one is enough for otherwise. */
export const isLong = process.env.STRONGROOM_TEST_LONG === '1'

/** For tests that show again, in other ways or at length, what shorter ones show: `{ skip: inShortRun }`. */
export const inShortRun = !isLong && 'npm run test:long has it'

/** How often a property is tried in `npm test`; the long run tries it twenty times as often. */
export const tries = (count: number): number => (isLong ? 20 * count : count)
