#!/usr/bin/env node
// Plain JavaScript in one file, for Node 20 or newer, run as a module or as a script: it is handed to people who have no vault.

const usage = `Usage: node verify-log.js <export.ndjson> --key <verifier key> [--anchor <file>]

Verifies an export of a Strongroom log. "-" reads the export from standard input. Exports of one tenant that continue each other are
verified together: cat january.ndjson february.ndjson | node verify-log.js - --key …

  --key     the text of the vault's public key, which "strongroom doctor" prints: <name>+<key id>+<key>
  --anchor  a file to which the vault appended its checkpoints

Exit code: 0 good, 1 could not run, 2 altered, 3 cut or rolled back, 4 forked; of several findings the highest. Each finding is a line.
`

/*
What this program reads
=======================

An export is NDJSON: each line is a JSON object and ends with one line feed, the last one too. It is the log of one tenant, from the
oldest record that is kept. Records of one writer stand in order; records of several writers may be mixed.

RECORD      {"tenant_id":"…","sequence":"<writer>.<n>",…}
            n counts from 0 without gaps. The line without its line feed is leaf n of the tree of that tenant and writer.

HEAD        {"head":{"tenant_id":"…","writer":0,"size":17,"root":"…","index":5,"proof":["…"]}}
            The tree of that writer had this root when it had `size` leaves. Stands after record size - 1 of the writer and before its
            next one. The head is leaf `index` of the checkpoints' tree, as the text "<tenant id> <writer> <size> <root>", and `proof`
            is the inclusion proof into the next CHECKPOINT in the export.
            {"head":{"tenant_id":"…","writer":0,"size":17,"edge":["…"]}}
            The edge of the tree at that size: the hashes of its perfect subtrees, the largest first. Must stand before the first record
            of a writer whose older records were removed by retention. Nothing vouches for it but the next root.
            A head may have all of these members. With an edge, what follows an altered record is verified again from there on. A head
            may be repeated before the next record of its writer, so a resumed export may begin with heads at its place.

CHECKPOINT  {"checkpoint":{"note":"…","from":12,"proof":["…"]}}
            `note` is a C2SP signed note (Ed25519) whose text is a C2SP checkpoint with the key's name as its origin:
                <origin>\n<size>\n<root>\nepoch <n>[ <start>]…\ntime <RFC 3339>\n[end <tenant id>[ <writer>:<first>:<size>]…\n]
            and lines that later releases may add. Its tree has a leaf for each head that grew, of all tenants. `proof` is the
            consistency proof from the checkpoint before it in the export, of size `from`; with the same size, and with `from` 0, it is
            empty. Of the first one in an export `from` and `proof` are not looked at.
            A start is the size at which an epoch began: an operator who accepts a rollback begins one, and all later checkpoints list
            the starts of epochs 1 to n. What an older epoch had beyond the start of a newer one was given up.
            `end` says what the log of the tenant consists of at this checkpoint: the records `first` to `size` - 1 of each writer that
            ever had any. An export is whole only if its last checkpoint has an `end` for its tenant. Without it, whoever leaves out the
            last records and heads of a writer, but no checkpoint, would not be noticed: nothing else says which head is the latest.
            Checkpoints before it need none. A checkpoint is signed anew to get one.

NEXT        {"next":"…"} is the cursor at which the export can be resumed. Who resumes removes everything after the last NEXT that was
            received whole, and appends. The cursor knows the size of the last checkpoint before it, so that the next one can continue
            it. It does not outlive an accepted rollback: the records after that are a new export.

Hashes are in standard base64. Trees and proofs are those of RFC 6962, with SHA-256.

An anchor is a file of signed checkpoints, one after another, without anything between them. An incomplete note at its end, where a
machine lost power, is passed over; whoever appends removes it first. The anchor's newest checkpoint must be in the export (unless it
was given up), so exports have every checkpoint that went to an anchor. All others of equal size are compared.

Memory does not grow with the export or the anchor.
*/

let fs
let crypto
let util

const severities = { altered: 2, cut: 3, forked: 4 }
const findingsMax = 1_000

/** Prints what is found, and knows the exit code. */
class Report {
  code = 0
  #count = 0

  find(kind, where, what) {
    this.code = Math.max(this.code, severities[kind])
    this.#count++
    if (this.#count <= findingsMax) this.say(`${kind}: ${where}: ${what}`)
    else if (this.#count === findingsMax + 1) this.say('There are more findings, which are not shown.')
  }

  say(line) {
    process.stdout.write(`${line}\n`)
  }
}

// ---- Trees (RFC 6962, section 2.1) ----

const sha256 = (...parts) => {
  const hash = crypto.createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest()
}
const leafPrefix = Buffer.of(0)
const nodePrefix = Buffer.of(1)
const leafHash = leaf => sha256(leafPrefix, leaf)
const nodeHash = (left, right) => sha256(nodePrefix, left, right)

/** Adds a leaf to the edge of a tree. */
const grow = (edge, size, leaf) => {
  let hash = leaf
  for (let rest = size; rest % 2 === 1; rest = (rest - 1) / 2) hash = nodeHash(edge.pop(), hash)
  edge.push(hash)
}

const rootOf = edge =>
  edge.length === 0 ? sha256() : edge.reduceRight((right, left) => nodeHash(left, right))

/** Sizes may be beyond 32 bits. */
const countOnes = size => BigInt(size).toString(2).replaceAll('0', '').length

/** The largest power of two below the size. */
const leftSize = size => {
  let left = 1
  while (left * 2 < size) left *= 2
  return left
}

/** The root to which an inclusion proof leads, or undefined if it has not as many hashes as it must. */
const includedRoot = (leaf, index, size, proof) => {
  if (size === 1) return proof.length === 0 ? leaf : undefined
  const beside = proof.at(-1)
  if (beside === undefined) return undefined
  const left = leftSize(size)
  const isLeft = index < left
  const rest = proof.slice(0, -1)
  const root = isLeft
    ? includedRoot(leaf, index, left, rest)
    : includedRoot(leaf, index - left, size - left, rest)
  return root && (isLeft ? nodeHash(root, beside) : nodeHash(beside, root))
}

/** The roots of the older and the newer tree to which a consistency proof leads, or undefined. */
const consistentRoots = (from, size, proof, fromRoot) => {
  if (from === size) {
    if (fromRoot !== undefined) return proof.length === 0 ? [fromRoot, fromRoot] : undefined
    return proof.length === 1 ? [proof[0], proof[0]] : undefined
  }
  const beside = proof.at(-1)
  if (beside === undefined) return undefined
  const left = leftSize(size)
  const rest = proof.slice(0, -1)
  if (from <= left) {
    const roots = consistentRoots(from, left, rest, fromRoot)
    return roots && [roots[0], nodeHash(roots[1], beside)]
  }
  const roots = consistentRoots(from - left, size - left, rest, undefined)
  return roots?.map(root => nodeHash(beside, root))
}

const isConsistent = (older, newer, proof) => {
  if (older.size === 0) return proof.length === 0 && older.root.equals(rootOf([]))
  const roots = consistentRoots(older.size, newer.size, proof, older.root)
  return roots !== undefined && roots[0].equals(older.root) && roots[1].equals(newer.root)
}

// ---- Reading ----

/** The bytes, if the text is standard base64 in its one form. */
const fromBase64 = text => {
  const bytes = Buffer.from(String(text), 'base64')
  return bytes.toString('base64') === text ? bytes : undefined
}
const toHash = text => {
  const bytes = fromBase64(text)
  return bytes?.length === 32 ? bytes : undefined
}
const toHashes = value => {
  const hashes = Array.isArray(value) && value.length <= 64 ? value.map(toHash) : [undefined]
  return hashes.includes(undefined) ? undefined : hashes
}
const isSize = value => Number.isSafeInteger(value) && value >= 0
const toSize = text => {
  const value = Number(text)
  return String(value) === text && isSize(value) ? value : undefined
}

const lineBytesMax = 16 * 2 ** 20

/**
 * The lines of a stream without their ends, and whether each had one. A line beyond the limit comes as undefined. They come as arrays,
 * since a promise for each would take longer than the line.
 */
async function* linesOf(stream) {
  let parts = []
  let bytes = 0
  for await (const chunk of stream) {
    const lines = []
    let start = 0
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      parts.push(chunk.subarray(start, end))
      lines.push({ line: joined(parts, bytes + end - start), isWhole: true })
      parts = []
      bytes = 0
      start = end + 1
    }
    bytes += chunk.length - start
    if (bytes > lineBytesMax) parts = []
    else if (start < chunk.length) parts.push(chunk.subarray(start))
    yield lines
  }
  if (bytes > 0) yield [{ line: joined(parts, bytes), isWhole: false }]
}

const joined = (parts, bytes) =>
  bytes > lineBytesMax ? undefined : parts.length === 1 ? parts[0] : Buffer.concat(parts)

// ---- Signed notes and checkpoints (c2sp.org/signed-note, c2sp.org/tlog-checkpoint) ----

/** Undefined if the text is no verifier key. */
const readKey = text => {
  const [, name, id, base64] = /^([^+\s]+)\+([0-9a-f]{8})\+([\w+/=]+)$/u.exec(text) ?? []
  const key = base64 === undefined ? undefined : fromBase64(base64)
  if (key?.length !== 33 || key[0] !== 1) return undefined
  if (sha256(`${name}\n`, key).toString('hex', 0, 4) !== id) return undefined
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: key.toString('base64url', 1) }
  return { name, id, publicKey: crypto.createPublicKey({ key: jwk, format: 'jwk' }) }
}

/** The text of a note, or what is wrong with it. Signatures with other keys are passed over. */
const openNote = (note, key) => {
  const split = note.lastIndexOf('\n\n')
  const lines = note.slice(split + 2).split('\n')
  if (split < 0 || lines.pop() !== '' || lines.length === 0 || lines.length > 100)
    return { wrong: 'it is no signed note' }
  const text = note.slice(0, split + 1)
  const bytes = Buffer.from(text)
  let isSigned = false
  for (const line of lines) {
    const [, name, base64] = /^— (\S+) (\S+)$/u.exec(line) ?? []
    const signature = base64 === undefined ? undefined : fromBase64(base64)
    if (signature === undefined || signature.length < 5) return { wrong: 'it is no signed note' }
    if (name !== key.name || signature.toString('hex', 0, 4) !== key.id) continue
    if (signature.length !== 68 || !crypto.verify(null, bytes, key.publicKey, signature.subarray(4)))
      return { wrong: 'its signature is wrong' }
    isSigned = true
  }
  return isSigned ? { text } : { wrong: 'it is not signed with this key' }
}

const checkpointForm =
  /^(?<origin>[^\n]+)\n(?<size>\d+)\n(?<root>[^\n]+)\nepoch (?<epochs>\d+(?: \d+)*)\ntime (?<time>\d{4}-[\d:.+TZ-]+)\n(?:end (?<tenant>[!-~]+)(?<writers>(?: \d+:\d+:\d+)*)\n)?(?!end )(?:(?!end |epoch |time )[^\n]+\n)*$/u

/** The checkpoint that a note holds, or what is wrong with it. */
const openCheckpoint = (note, key) => {
  const { text, wrong } = openNote(note, key)
  if (text === undefined) return { wrong }
  const fields = checkpointForm.exec(text)?.groups
  if (fields?.origin !== key.name) return { wrong: 'it is no checkpoint of this vault' }
  const size = toSize(fields.size)
  const root = toHash(fields.root)
  const [epoch, ...starts] = fields.epochs.split(' ').map(toSize)
  const end =
    fields.tenant === undefined ? undefined : { tenant: fields.tenant, writers: readWriters(fields.writers) }
  if (
    size === undefined ||
    root === undefined ||
    epoch !== starts.length ||
    !starts.every(start => start <= size) ||
    (end && !end.writers)
  )
    return { wrong: 'it is no checkpoint of this vault' }
  return { size, root, epoch, starts, time: fields.time, end }
}

const readWriters = text => {
  const writers = new Map()
  for (const part of text.split(' ').slice(1)) {
    const [writer, first, size] = part.split(':').map(toSize)
    if (
      writer === undefined ||
      first === undefined ||
      size === undefined ||
      first > size ||
      writers.has(writer)
    )
      return undefined
    writers.set(writer, { first, size })
  }
  return writers
}

/** Up to which size the checkpoint of the older epoch must be in the newer one's tree; undefined if their epochs contradict each other. */
const sharedSize = (a, b) => {
  const [older, newer] = a.epoch <= b.epoch ? [a, b] : [b, a]
  if (!older.starts.every((start, at) => start === newer.starts[at])) return undefined
  return Math.min(Number.POSITIVE_INFINITY, ...newer.starts.slice(older.epoch))
}

/** What one checkpoint after another means: `grown` needs a proof, `same` and `rollback` (an accepted one) do not; or a finding. */
const judgeStep = (older, newer) => {
  const shared = sharedSize(older, newer)
  if (shared === undefined)
    return { kind: 'forked', what: 'two checkpoints disagree about where an epoch began' }
  if (newer.epoch < older.epoch)
    return { kind: 'forked', what: `epoch ${newer.epoch} follows epoch ${older.epoch}` }
  if (older.size > shared) return { kind: 'rollback' }
  if (newer.size < older.size)
    return {
      kind: 'cut',
      what: `a checkpoint of size ${newer.size} follows one of size ${older.size} in the same epoch`,
    }
  if (newer.size > older.size) return { kind: 'grown' }
  if (newer.root.equals(older.root)) return { kind: 'same' }
  return { kind: 'forked', what: `two signed checkpoints of size ${newer.size} differ` }
}

// ---- The anchor ----

/** The notes of the file. An incomplete one at the end is left out. */
async function* notesOf(path) {
  let note = []
  let hasText = false
  let hasSignature = false
  for await (const lines of linesOf(fs.createReadStream(path)))
    for (const { line, isWhole } of lines) {
      const text = line === undefined ? '' : line.toString()
      const isSignature = hasText && text.startsWith('— ')
      if (hasSignature && !isSignature) {
        yield `${note.join('\n')}\n`
        note = []
        hasText = false
        hasSignature = false
      }
      if (!isWhole) break
      // What has no signature after so many lines is no note; its beginning is enough to say so.
      if (note.length < 1_000) note.push(text)
      if (text === '') hasText = true
      hasSignature ||= isSignature
    }
  if (hasSignature) yield `${note.join('\n')}\n`
}

/** Compares the checkpoints of an export, as they come, with those of an anchor, which is read beside it. */
class Anchor {
  newest
  isNewestMet = false
  #report
  #path
  #key
  #notes
  #next
  /** The last checkpoint of the export. */
  #met

  constructor(report, path, key) {
    this.#report = report
    this.#path = path
    this.#key = key
  }

  async *#checkpoints() {
    for await (const note of notesOf(this.#path)) yield openCheckpoint(note, this.#key)
  }

  /** Reads all of it once: signatures, order, and what the newest is. */
  async open() {
    let count = 0
    for await (const checkpoint of this.#checkpoints()) {
      count++
      const where = `anchor, checkpoint ${count}`
      if (checkpoint.wrong !== undefined) {
        this.#report.find('altered', where, checkpoint.wrong)
        continue
      }
      const { kind, what } = this.newest === undefined ? { kind: 'same' } : judgeStep(this.newest, checkpoint)
      if (what !== undefined) this.#report.find(kind, where, what)
      this.newest = checkpoint
    }
    if (count === 0) throw new Error('the anchor holds no checkpoint')
  }

  /** Those that the newest one continues: in order of their size. */
  async *#valid() {
    for await (const checkpoint of this.#checkpoints())
      if (checkpoint.wrong === undefined && checkpoint.size <= (sharedSize(checkpoint, this.newest) ?? -1))
        yield checkpoint
  }

  async meet(checkpoint) {
    if (this.newest === undefined) return
    // An accepted rollback goes back to where its epoch began.
    if (checkpoint.epoch !== this.#met?.epoch || checkpoint.size < this.#met.size) {
      await this.#notes?.return()
      this.#notes = this.#valid()
      this.#next = (await this.#notes.next()).value
    }
    this.#met = checkpoint
    while (this.#next !== undefined && this.#next.size <= checkpoint.size) {
      if (this.#next.size === checkpoint.size) this.#compare(this.#next, checkpoint)
      this.#next = (await this.#notes.next()).value
    }
  }

  #compare(anchored, checkpoint) {
    if (anchored.size > (sharedSize(anchored, checkpoint) ?? -1)) return
    if (anchored.size === this.newest.size && anchored.epoch === this.newest.epoch) this.isNewestMet = true
    if (!anchored.root.equals(checkpoint.root))
      this.#report.find(
        'forked',
        'anchor',
        `its checkpoint of size ${anchored.size} is not the one in the export`,
      )
  }

  /** What the export's last checkpoint must be, compared with the newest here. */
  judge(last) {
    const { newest } = this
    if (newest === undefined || last === undefined) return
    const shared = sharedSize(newest, last)
    const find = (kind, what) => this.#report.find(kind, 'anchor', what)
    if (shared === undefined) find('forked', 'it disagrees with the export about where an epoch began')
    else if (last.epoch < newest.epoch)
      find('cut', `the export ends in epoch ${last.epoch}, and the anchor in epoch ${newest.epoch}`)
    else if (newest.size > shared)
      this.#report.say(
        `note: an accepted rollback gave up what followed checkpoint ${shared}; the anchor was at ${newest.size}`,
      )
    else if (last.size < newest.size)
      find(
        'cut',
        `the export ends at checkpoint ${last.size}, and the anchor at ${newest.size}: it was cut, or storage was rolled back`,
      )
    else if (!this.isNewestMet)
      find(
        'cut',
        `its newest checkpoint, of size ${newest.size}, is not in the export, so nothing shows that the export continues it`,
      )
  }
}

// ---- The export ----

/** What is known of a writer's tree at this place of the export. */
const newWriter = (first, edge) => ({
  /** The first record of the export. */
  first,
  size: first,
  /** Undefined from an altered record to the next head with an edge. */
  edge,
  /** Up to here a head vouches for the records. */
  proven: first,
  headIndex: -1,
  headSize: -1,
  /** The size that a head or an end has told. */
  told: first,
  /** Whether records came after what told of them, which is said once. */
  isToldEarly: false,
})

class Export {
  #report
  #key
  #anchor
  #tenant
  #writers = new Map()
  /** Heads that wait for the next checkpoint. */
  #heads = []
  #last
  #isEnded = false
  /** Whether the last checkpoint was refused: that nothing vouches for what is before it needs no finding of its own. */
  #isBroken = false
  #lines = 0
  #records = 0

  constructor(report, key, anchor) {
    this.#report = report
    this.#key = key
    this.#anchor = anchor
  }

  async read(stream) {
    for await (const lines of linesOf(stream))
      for (const { line, isWhole } of lines) {
        this.#lines++
        if (!isWhole) this.#find('cut', 'the export breaks off in this line')
        else if (line === undefined) this.#find('altered', 'the line is too long for an export')
        else {
          const checkpoint = this.#readLine(line)
          if (checkpoint !== undefined) await this.#checkpoint(checkpoint)
        }
      }
    this.#finish()
  }

  #find(kind, what) {
    this.#report.find(kind, `line ${this.#lines}`, what)
  }

  /** Names records; their tenant is always the export's. */
  #findRecords(kind, writer, first, last, what) {
    const name = first === last ? `${writer}.${first}` : `${writer}.${first} to ${writer}.${last}`
    this.#report.find(kind, `tenant ${this.#tenant}, writer ${writer}, sequence ${name}`, what)
  }

  /** Returns what a checkpoint's line holds, whose reading has to wait for the anchor. */
  #readLine(line) {
    let value
    try {
      value = JSON.parse(line.toString())
    } catch {}
    if (typeof value !== 'object' || value === null) this.#find('altered', 'it is no line of an export')
    else if ('sequence' in value) this.#record(line, value)
    else if (typeof value.head === 'object' && value.head !== null) this.#head(value.head)
    else if (typeof value.checkpoint === 'object' && value.checkpoint !== null) return value.checkpoint
    else if (typeof value.next !== 'string') this.#find('altered', 'it is no line of an export')
  }

  /** Whether it belongs to the tenant of this export, which the first line that names one decides. */
  #isOurs(tenant) {
    if (typeof tenant !== 'string' || !/^[!-~]{1,128}$/.test(tenant)) return false
    this.#tenant ??= tenant
    return tenant === this.#tenant
  }

  #record(line, { tenant_id: tenant, sequence }) {
    const [, writer, n] = (/^(\d+)\.(\d+)$/.exec(String(sequence)) ?? []).map((text, at) =>
      at ? toSize(text) : text,
    )
    if (writer === undefined || n === undefined)
      return this.#find('altered', 'the record has no valid sequence')
    if (!this.#isOurs(tenant)) return this.#find('altered', `record ${writer}.${n} belongs to another tenant`)
    this.#records++
    this.#isEnded = false
    if (!this.#writers.has(writer)) this.#writers.set(writer, newWriter(0, []))
    const state = this.#writers.get(writer)
    if (n < state.size)
      return this.#findRecords('altered', writer, n, n, 'the record comes again, or too late')
    if (n > state.size) {
      this.#findRecords('altered', writer, state.size, n - 1, `missing before line ${this.#lines}`)
      state.edge = undefined
    } else if (n < state.told && !state.isToldEarly) {
      this.#findRecords(
        'altered',
        writer,
        n,
        n,
        'the record comes after a head or an end that has it already',
      )
      state.isToldEarly = true
    }
    if (state.edge !== undefined) grow(state.edge, n, leafHash(line))
    state.size = n + 1
  }

  #head({ tenant_id: tenant, writer, size, root: rootText, edge: edgeTexts, index, proof: proofTexts }) {
    if (!this.#isOurs(tenant)) return this.#find('altered', 'the head belongs to another tenant')
    const root = toHash(rootText)
    const proof = toHashes(proofTexts)
    const edge = toHashes(edgeTexts)
    const hasRoot = rootText !== undefined || index !== undefined || proofTexts !== undefined
    const isSound =
      isSize(writer) &&
      isSize(size) &&
      (hasRoot ? root !== undefined && proof !== undefined && isSize(index) : edgeTexts !== undefined) &&
      (edgeTexts === undefined || edge?.length === countOnes(size)) &&
      (root === undefined || edge === undefined || rootOf(edge).equals(root))
    if (!isSound) {
      const state = this.#writers.get(writer)
      // So that its records are not said to have no head.
      if (state !== undefined) state.proven = state.size
      return this.#find('altered', 'the head is malformed')
    }

    if (!this.#writers.has(writer))
      this.#writers.set(writer, edge === undefined ? newWriter(0, []) : newWriter(size, [...edge]))
    const state = this.#writers.get(writer)
    if (size < state.size)
      return this.#find(
        'altered',
        `the head of writer ${writer} at ${size} stands after record ${writer}.${state.size - 1}`,
      )
    if (size > state.size) state.told = Math.max(state.told, size)
    else this.#compareHead(writer, state, root ?? rootOf(edge), edge)
    if (root === undefined) return
    if (size > state.headSize && index <= state.headIndex)
      this.#find('altered', `the head of writer ${writer} at ${size} is older than the one before it`)
    state.headIndex = index
    state.headSize = size
    if (size === state.size) state.proven = size
    this.#heads.push({ writer, size, root, index, proof })
  }

  #compareHead(writer, state, root, edge) {
    if (state.edge !== undefined && !rootOf(state.edge).equals(root)) {
      const [first, last] = [Math.min(state.proven, state.size - 1), state.size - 1]
      this.#findRecords(
        'altered',
        writer,
        Math.max(first, 0),
        Math.max(last, 0),
        'altered: these records do not lead to the root of their head',
      )
      state.edge = undefined
    }
    if (state.edge === undefined && edge !== undefined) state.edge = [...edge]
  }

  async #checkpoint({ note, from, proof: proofTexts }) {
    const heads = this.#heads
    this.#heads = []
    this.#isEnded = false
    this.#isBroken = true
    const proof = toHashes(proofTexts)
    if (typeof note !== 'string' || !isSize(from) || proof === undefined)
      return this.#find('altered', 'the checkpoint is malformed')
    const checkpoint = openCheckpoint(note, this.#key)
    if (checkpoint.wrong !== undefined)
      return this.#find('altered', `the checkpoint is not good: ${checkpoint.wrong}`)
    this.#isBroken = false
    const older = this.#last
    this.#last = checkpoint
    if (older !== undefined) this.#continue(older, checkpoint, from, proof)
    for (const head of heads) this.#include(head, checkpoint)
    this.#isEnded = checkpoint.end !== undefined && this.#end(checkpoint.end)
    await this.#anchor?.meet(checkpoint)
  }

  #continue(older, newer, from, proof) {
    const { kind, what } = judgeStep(older, newer)
    if (what !== undefined) this.#find(kind, what)
    else if (kind === 'rollback')
      this.#report.say(
        `note: line ${this.#lines}: epoch ${newer.epoch} began with an accepted rollback; what followed checkpoint ${sharedSize(older, newer)} was given up`,
      )
    else if (kind === 'grown' && from !== older.size)
      this.#find(
        'altered',
        `the checkpoint continues one of size ${from}, but the one before it has size ${older.size}`,
      )
    else if (kind === 'grown' && !isConsistent(older, newer, proof))
      this.#find(
        'forked',
        `the checkpoint of size ${newer.size} does not continue the one of size ${older.size}`,
      )
  }

  #include({ writer, size, root, index, proof }, checkpoint) {
    const leaf = leafHash(`${this.#tenant} ${writer} ${size} ${root.toString('base64')}`)
    if (index < checkpoint.size && includedRoot(leaf, index, checkpoint.size, proof)?.equals(checkpoint.root))
      return
    this.#find(
      'altered',
      `the head of writer ${writer} at ${size} is not in the checkpoint of size ${checkpoint.size}`,
    )
  }

  /** Whether it is the end of this export. */
  #end({ tenant, writers }) {
    if (!this.#isOurs(tenant)) {
      this.#find('altered', 'the end belongs to the export of another tenant')
      return false
    }
    for (const [writer, { size }] of this.#writers) {
      const known = writers.get(writer)?.size ?? 0
      if (size > known)
        this.#findRecords('altered', writer, known, size - 1, 'added: the vault does not have these records')
    }
    for (const [writer, { first, size }] of writers) {
      if (!this.#writers.has(writer))
        this.#writers.set(writer, newWriter(first, first === 0 ? [] : undefined))
      const state = this.#writers.get(writer)
      state.told = Math.max(state.told, size)
      if (state.first > first)
        this.#findRecords(
          'cut',
          writer,
          first,
          state.first - 1,
          'missing at the beginning, and not removed by retention',
        )
    }
    return true
  }

  #finish() {
    for (const [writer, { size, told, proven }] of this.#writers) {
      if (size < told) this.#findRecords('cut', writer, size, told - 1, 'missing at the end')
      if (size > proven)
        this.#findRecords(
          'cut',
          writer,
          proven,
          size - 1,
          'the head that vouches for these records is missing',
        )
    }
    for (const { writer, size } of this.#heads)
      this.#report.find(
        'cut',
        `tenant ${this.#tenant}, writer ${writer}`,
        `the checkpoint that vouches for its head at ${size} is missing`,
      )
    if (this.#isBroken) return
    if (this.#last === undefined) this.#report.find('cut', 'export', 'it has no checkpoint')
    else if (!this.#isEnded)
      this.#report.find(
        'cut',
        'export',
        'its end is missing: it does not stop with a checkpoint that says what the log consists of',
      )
    this.#anchor?.judge(this.#last)
    if (this.#report.code === 0) this.#report.say(this.#summary())
  }

  #summary() {
    const { size, epoch, time } = this.#last
    const removed = [...this.#writers].flatMap(([writer, { first }]) =>
      first > 0 ? [`${writer}.${first}`] : [],
    )
    const beginning =
      removed.length === 0 ? '' : ` Retention has removed what came before ${removed.join(', ')}.`
    const past = epoch === 0 ? '' : ` Rollbacks accepted by the operator: ${epoch}.`
    return `good: tenant ${this.#tenant}: ${this.#records} records, complete at checkpoint ${size} of ${time}.${beginning}${past}`
  }
}

// ---- The program ----

const readArguments = () => {
  try {
    const { values, positionals } = util.parseArgs({
      allowPositionals: true,
      options: { key: { type: 'string' }, anchor: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
    })
    if (values.help) return { isHelp: true }
    if (values.key === undefined) return { wrong: '--key is missing' }
    if (positionals.length !== 1)
      return { wrong: positionals.length === 0 ? 'the export is missing' : 'only one export can be verified' }
    return { ...values, path: positionals[0] }
  } catch (error) {
    return { wrong: error.message }
  }
}

const main = async report => {
  ;[fs, crypto, util] = await Promise.all([import('node:fs'), import('node:crypto'), import('node:util')])
  const { isHelp, wrong, key: keyText, anchor: anchorPath, path } = readArguments()
  if (isHelp) return process.stdout.write(usage)
  if (wrong !== undefined) throw new Error(`${wrong}\n\n${usage}`)
  const key = readKey(keyText)
  if (key === undefined) throw new Error('the verifier key is malformed')
  const anchor = anchorPath === undefined ? undefined : new Anchor(report, anchorPath, key)
  await anchor?.open()
  await new Export(report, key, anchor).read(path === '-' ? process.stdin : fs.createReadStream(path))
}

const report = new Report()
main(report)
  .catch(error => {
    process.stderr.write(`verify-log: ${error.message}\n`)
    report.code = Math.max(report.code, 1)
  })
  .finally(() => {
    process.exitCode = report.code
  })
