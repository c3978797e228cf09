import { requireDataFolder } from '../data-folder.ts'
import { shellWord } from '../shell-word.ts'
import { withVault } from '../storage.ts'
import type { Check } from './check.ts'

const openFilesMin = 1_024
const raiseOpenFiles = 'ulimit -n 65536'
const freeBytesMin = 256 * 1_048_576
const clockSlackMs = 300_000

/** Expiry and the cvc's hour follow this machine's clock; one that is behind keeps what should be gone. */
export const clock: Check = ({ config, machine }) =>
  withVault(config, async vault => {
    const newest = await vault.store.newestTokenAt()
    if (newest === undefined || newest <= machine.now() + clockSlackMs) return []
    return [
      {
        check: 'clock',
        problem:
          'storage holds tokens from the future: the clock of this machine is behind, or another node is ahead',
        byHand: `compare "date -u" on every node with a clock that you trust, and set the one that is wrong; where that was another node, this ends by itself at ${new Date(newest - clockSlackMs).toISOString()}`,
        blocks: false,
      },
    ]
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
      // Where the shell may, it must be the one that starts the server.
      ...(machine.obeys(raiseOpenFiles)
        ? { command: raiseOpenFiles }
        : {
            byHand:
              'raise the limit for whatever starts the server: LimitNOFILE=65536 in its systemd unit, --ulimit nofile=65536 for its container, or nofile in /etc/security/limits.conf',
          }),
    },
  ]
}

export const freeSpace: Check = ({ config, machine }) => {
  if (config.database !== undefined) return []
  const folder = requireDataFolder(config)
  if (machine.freeBytes(folder) >= freeBytesMin) return []
  return [
    {
      check: 'limits',
      problem: `less than ${freeBytesMin / 1_048_576} MiB are free where the data is: delete what is not the vault's, or stop the server, move the folder and start it with --data there`,
      command: `disk=/path/to/a/larger/disk && ls -d "$disk" && mv ${shellWord(folder)} "$disk"`,
      blocks: false,
    },
  ]
}
