import { registerHooks } from 'node:module'

// Loaded with --import: the server that it is loaded into keeps no log. Only a measurement does this; no setting can.
const stub = new URL('no-act-log.ts', import.meta.url).href

registerHooks({
  resolve: (specifier, context, next) =>
    specifier.endsWith('/act-log.ts') && context.parentURL !== stub
      ? { url: stub, shortCircuit: true, format: 'module-typescript' }
      : next(specifier, context),
})
