import { join } from 'node:path'
import { fileKeyProvider } from '../../src/keys/file/file-key-provider.ts'
import { buildService } from '../../src/service.ts'
import { defaultSettings, drainTimeoutMs, type TestVault } from './test-vault.ts'

/** Another process on the same storage, as far as the vault can tell. Shares the first one's clock. */
export const secondNode = async (
  vault: TestVault,
): Promise<Pick<TestVault, 'engine' | 'service' | 'store' | 'send' | 'stop'>> => {
  const store = await vault.engine.open(vault.folder.path)
  const service = await buildService({
    store,
    keyProvider: fileKeyProvider(join(vault.folder.path, 'master.key')),
    clock: () => vault.now,
    log: { isDebug: false, error: () => {}, info: () => {}, debug: () => {} },
    settings: { ...defaultSettings, ...vault.settings },
  })
  const { port } = await service.listen({ host: '127.0.0.1', port: 0 })
  const here: TestVault = Object.create(vault, { baseUrl: { value: `http://127.0.0.1:${port}` } })
  return {
    engine: vault.engine,
    service,
    store,
    send: (...sent) => here.send(...sent),
    stop: () => service.close(drainTimeoutMs),
  }
}
