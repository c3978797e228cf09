/** In `npm run test:long`, properties are tried more often, and every engine runs what one is enough for otherwise. */
export const isLong = process.env.STRONGROOM_TEST_LONG === '1'

/** How often a property is tried in `npm test`; the long run tries it twenty times as often. */
export const tries = (count: number): number => (isLong ? 20 * count : count)
