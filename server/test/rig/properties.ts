import fc from 'fast-check'

/** To draw from a different seed: `STRONGROOM_TEST_SEED=7 npx node --test file`. */
const seed = Number(process.env.STRONGROOM_TEST_SEED ?? 1)
fc.configureGlobal({ seed })

/** The library with the seed set. Imported from anywhere else, it would draw differently each time. */
export { fc }
