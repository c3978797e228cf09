import { generateKeyPairSync } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { signCheckpoint } from '../../server/src/crypto/checkpoint.ts'
import {
  append,
  consistencyProof,
  inclusionProof,
  leafHash,
  rootOf,
  subtreesOf,
} from '../../server/src/crypto/merkle.ts'
import { noteSigner, openNote, signNote, verifierKeyText } from '../../server/src/crypto/signed-note.ts'
import { LogEvidence } from '../../server/test/rig/log-evidence.ts'

/**
 * Writes what main.go checks with Go's own code for transparency logs. By hand, where Go 1.26 is installed:
 *
 *     npx node scripts/verify-log-oracle/make-vectors.ts /tmp/vectors
 *     cd scripts/verify-log-oracle && go run . vectors /tmp/vectors/vectors.ndjson
 *     for export in /tmp/vectors/*.export; do go run . export "$export" "$(cat /tmp/vectors/key)" || break; done
 */
const [folder = ''] = process.argv.slice(2)
mkdirSync(folder, { recursive: true })
const base64 = (hash: Buffer): string => hash.toString('base64')
const write = (name: string, lines: readonly string[]): void =>
  writeFileSync(join(folder, name), lines.map(line => `${line}\n`).join(''))

const treeVectors = (sizeMax: number): object[] => {
  const leaves = Array.from({ length: sizeMax }, (_, n) => leafHash(`leaf ${n}`))
  const subtrees = subtreesOf({ cut: 0, edge: [], leafHashes: (start, end) => leaves.slice(start, end) })
  const vectors: object[] = []
  for (let size = 0; size <= sizeMax; size++) {
    const edge = append([], 0, leaves.slice(0, size))
    vectors.push({ kind: 'root', size, root: base64(rootOf(edge)), edge: edge.map(base64) })
    for (let index = 0; index < size; index++) {
      const proof = inclusionProof(subtrees, index, size)?.map(base64)
      vectors.push({ kind: 'inclusion', size, index, proof })
    }
    for (let from = 1; from <= size; from++) {
      const proof = consistencyProof(subtrees, from, size)?.map(base64)
      vectors.push({ kind: 'consistency', size, from, proof })
    }
  }
  return vectors
}

const noteVectors = (count: number): object[] =>
  Array.from({ length: count }, (_, n) => {
    const { privateKey } = generateKeyPairSync('ed25519')
    const signer = noteSigner(`vault.example/${n}`, privateKey)
    const end = { tenantId: 'tenant', writers: [{ writer: n, first: 0, size: n }] }
    const checkpoint = { size: n, root: leafHash(String(n)), epochStarts: [n], time: n * 1e9, end }
    const text =
      n % 2 === 0 ? openNote(signCheckpoint(checkpoint, signer), signer) : `Zoë ${n}\n\n— no signature\n`
    const seed = Buffer.from(privateKey.export({ format: 'jwk' }).d ?? '', 'base64url')
    const id = signer.keyId.toString('hex')
    return {
      kind: 'note',
      text,
      note: signNote(text, signer),
      key: verifierKeyText(signer),
      signer: `PRIVATE+KEY+${signer.name}+${id}+${base64(Buffer.concat([Buffer.of(1), seed]))}`,
    }
  })

write(
  'vectors.ndjson',
  [...treeVectors(130), ...noteVectors(100)].map(vector => JSON.stringify(vector)),
)

const log = new LogEvidence()
writeFileSync(join(folder, 'key'), log.key)
for (let round = 1; round <= 40; round++) {
  log.act('ours', 0, (round * 7) % 23).act('ours', round % 5, 3)
  for (let tenant = 0; tenant < round % 4; tenant++) log.act(`other${tenant}`)
  log.checkpoint()
}
write('whole.export', log.export('ours'))
write('edges.export', log.export('ours', { edges: true }))
log.removeBefore('ours', 0, 101)
log.removeBefore('ours', 3, 6)
write('cut.export', log.export('ours'))
process.stdout.write(`written to ${folder}\n`)
