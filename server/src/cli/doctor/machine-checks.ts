import type { Config } from '../../config/config.ts'
import { clockSkewMs, type FutureTokens, futureTokens } from '../clocks.ts'
import { configuredStorage } from '../storage/configured-storage.ts'
import { withVault } from '../storage/with-vault.ts'
import type { Check, Finding } from './finding.ts'

const openFilesMin = 1_024
const raiseOpenFiles = 'ulimit -n 65536'

/** Expiry and the cvc's hour follow this machine's clock. If it is slow, data stays longer than it should. */
export const clock: Check = ({ config, machine }) =>
  withVault(config, async vault => {
    const skewMs = await clockSkewMs(vault.store, machine.now)
    if (skewMs !== undefined) return [wrongClock(skewMs)]
    const future = await futureTokens(vault, machine.now())
    return future === undefined ? [] : [wrongTokens(config, future)]
  })

const wrongClock = (skewMs: number): Finding => ({
  check: 'clock',
  problem: `the clock of this machine is ${Math.abs(Math.trunc(skewMs / 1_000))} seconds ${skewMs > 0 ? 'ahead of' : 'behind'} that of the database`,
  byHand:
    'compare "date -u" on both with a clock that you trust, set the one that is wrong, and let a time service such as chrony or systemd-timesyncd keep it right',
  blocks: false,
})

const wrongTokens = (config: Config, { counts, until }: FutureTokens): Finding => ({
  check: 'clock',
  problem: `storage holds tokens from the future (${counts.map(({ tenantId, count }) => `${count} of tenant ${tenantId}`).join(', ')}): the clock of this machine is behind, or one was ahead when they were made`,
  byHand: `${configuredStorage(config).doctor.compareClocks}, replace these tokens (they come first in lists) with new ones, or wait until ${new Date(until).toISOString()}`,
  blocks: false,
})

/** Each connection is an open file. */
export const openFiles: Check = ({ machine }) => {
  const max = machine.openFilesMax()
  if (max >= openFilesMin) return []
  return [
    {
      check: 'limits',
      problem: `only ${max} files may be open at once, and each connection is one`,
      blocks: false,
      // If a shell may raise the limit, it must be the shell that starts the server.
      ...(machine.obeys(raiseOpenFiles)
        ? { command: raiseOpenFiles }
        : {
            byHand:
              'raise the limit for whatever starts the server: LimitNOFILE=65536 in its systemd unit, --ulimit nofile=65536 for its container, or nofile in /etc/security/limits.conf',
          }),
    },
  ]
}
