import fc from 'fast-check'

/** Another seed than the one of every run: `STRONGROOM_TEST_SEED=7 npx node --test file`. */
const seed = Number(process.env.STRONGROOM_TEST_SEED ?? 1)
fc.configureGlobal({ seed })

/** The library, told the seed: what imports it from elsewhere would draw anew each time. */
export { fc }
