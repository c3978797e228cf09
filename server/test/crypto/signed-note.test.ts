import assert from 'node:assert/strict'
import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { describe, test } from 'node:test'
import { type Checkpoint, headLeaf, openCheckpoint, signCheckpoint } from '../../src/crypto/checkpoint.ts'
import { leafHash } from '../../src/crypto/merkle.ts'
import {
  isKeyName,
  NoteError,
  noteSigner,
  openNote,
  readVerifierKey,
  signNote,
  verifierKeyText,
} from '../../src/crypto/signed-note.ts'
import { anyCharacter } from '../rig/any-character.ts'
import { fc } from '../rig/properties.ts'
import { hash } from './naive-tree.ts'

const newSigner = (name = 'vault.example/log') => noteSigner(name, generateKeyPairSync('ed25519').privateKey)
const signer = newSigner()
const refused = (message: string) => (error: unknown) =>
  error instanceof NoteError && error.message === message

const seedKey = (seed: Buffer) =>
  createPrivateKey({
    key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]),
    format: 'der',
    type: 'pkcs8',
  })

const goVector = {
  key: 'vault.example/log+9430bab4+AepKbGPinFIKvvVQexMuxfmVR3auvr57kkIe6mkURtIs',
  note: `first
second — line

— vault.example/log lDC6tMYesUH2uG/yCxu5tAr+Gqw2W86BLa8IitI7zfkBPzcNAU6hV9nLBzlwXMQhfguOkgwC2Qzgw7qiAVZgxQaL9QY=
`,
}

describe('signed notes', () => {
  test('a note of a known key is, byte for byte, what Go makes of it (L4.2)', () => {
    // Made once by golang.org/x/mod/sumdb/note from the same seed, name and text.
    const fixed = noteSigner('vault.example/log', seedKey(Buffer.alloc(32, 7)))
    assert.equal(verifierKeyText(fixed), goVector.key)
    assert.equal(signNote('first\nsecond — line\n', fixed), goVector.note)
    assert.equal(openNote(goVector.note, readVerifierKey(goVector.key)), 'first\nsecond — line\n')
  })

  test('any text of whole lines is signed, and opened with the text of the public key alone (L4)', () => {
    const line = fc
      .string({ unit: anyCharacter, maxLength: 20 })
      .filter(text => text.isWellFormed() && !/\p{Cc}/u.test(text))
    const verifier = readVerifierKey(verifierKeyText(signer))
    fc.assert(
      fc.property(fc.array(line, { minLength: 1, maxLength: 5 }), lines => {
        const text = lines.map(part => `${part}\n`).join('')
        assert.equal(openNote(signNote(text, signer), verifier), text)
      }),
    )
  })

  test('a note in which any character was changed, added or removed does not open (L4)', () => {
    const note = signNote('size 17\n\nand more\n', signer)
    const opens = (text: string): boolean => {
      try {
        openNote(text, signer)
        return true
      } catch (error) {
        assert.ok(error instanceof NoteError, String(error))
        return false
      }
    }
    assert.ok(opens(note))
    for (let at = 0; at < note.length; at++)
      for (const put of ['', 'x', 'A', '\n', ' ', '=', `${note[at]}${note[at]}`])
        if (put !== note[at]) {
          const changed = note.slice(0, at) + put + note.slice(at + 1)
          if (changed !== note) assert.ok(!opens(changed), JSON.stringify(changed))
        }
    for (let length = 0; length < note.length; length++) assert.ok(!opens(note.slice(0, length)))
    assert.ok(!opens(`${note}\n`) && !opens(`\n${note}`) && !opens(note + note))
  })

  test('another key, another name and the same name with another key have not signed it (L4)', () => {
    const note = signNote('text\n', signer)
    for (const other of [newSigner(), newSigner('other.example'), noteSigner('other', signer.privateKey)])
      assert.throws(() => openNote(note, other), refused('the note is not signed with this key'))
  })

  test('witnesses may sign below; a wrong signature with our own key is refused even beside a right one (L4)', () => {
    const note = signNote('text\n', signer)
    const lineOf = (signed: string) => signed.slice(signed.indexOf('—'))
    assert.equal(openNote(note + lineOf(signNote('text\n', newSigner('witness'))), signer), 'text\n')
    assert.throws(
      () => openNote(note + lineOf(signNote('other\n', signer)), signer),
      refused('the signature does not belong to this note'),
    )
    assert.throws(() => openNote(note + lineOf(note).repeat(100), signer), refused('malformed note'))
  })

  const malformedKeys: Record<string, (key: string) => string> = {
    nothing: () => '',
    'without a name': key => key.slice(key.indexOf('+')),
    'with another name': key => `x${key}`,
    'with a space in front': key => ` ${key}`,
    'with a line end': key => `${key}\n`,
    'with another key id': key => key.replace(/\+[0-9a-f]{8}\+/, '+00000000+'),
    'in capitals': key => key.replace(/\+[0-9a-f]{8}\+/, id => id.toUpperCase()),
    cut: key => key.slice(0, -4),
    'in base64 for URLs': key => key.replaceAll('/', '_'),
  }
  for (const [name, change] of Object.entries(malformedKeys))
    test(`the text of a key is refused: ${name} (L6)`, () => {
      const fixed = noteSigner('vault.example/log', seedKey(Buffer.alloc(32, 9)))
      const text = change(verifierKeyText(fixed))
      assert.notEqual(text, verifierKeyText(fixed))
      assert.throws(() => readVerifierKey(text), refused('malformed verifier key'))
    })

  test('the text of a key of another algorithm is refused (L6)', () => {
    const raw = Buffer.alloc(32, 9)
    const textOf = (algorithm: number) => {
      const key = Buffer.concat([Buffer.of(algorithm), raw])
      const id = hash('a\n', key).subarray(0, 4).toString('hex')
      return `a+${id}+${key.toString('base64')}`
    }
    assert.equal(readVerifierKey(textOf(1)).name, 'a')
    assert.throws(() => readVerifierKey(textOf(2)), refused('malformed verifier key'))
  })

  test('a key name has no spaces, control characters or plus signs (L4)', () => {
    for (const name of ['', 'a b', 'a+b', 'a\nb', 'a\u00a0b', 'a\u0085b', 'a\u2028b', '\ud800'])
      assert.ok(!isKeyName(name), JSON.stringify(name))
    assert.ok(isKeyName('vault.example/1') && isKeyName('gewölbe'))
    assert.throws(() => newSigner('a b'))
    assert.throws(() => noteSigner('a', generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey))
  })

  test('a text that is no whole lines, or has control characters, is not signed (L4)', () => {
    for (const text of ['', 'a', 'a\nb', 'a\r\n', '\0\n', '\ud800\n'])
      assert.throws(() => signNote(text, signer), refused('malformed note'), JSON.stringify(text))
  })
})

const root = leafHash('x')
const plain: Omit<Checkpoint, 'origin'> = {
  size: 17,
  root,
  epochStarts: [],
  time: Date.UTC(2026, 10, 19, 12),
}

describe('checkpoints', () => {
  test('the text of a checkpoint is frozen: archives hold it for ever (L4)', () => {
    const end = {
      tenantId: '0190a1b2-0000-7000-8000-000000000001',
      writers: [
        { writer: 0, first: 500, size: 1200 },
        { writer: 31, first: 0, size: 7 },
      ],
    }
    assert.equal(
      openNote(signCheckpoint({ ...plain, epochStarts: [9, 4], end }, signer), signer),
      `vault.example/log
17
${root.toString('base64')}
epoch 2 9 4
time 2026-11-19T12:00:00.000+00:00
end 0190a1b2-0000-7000-8000-000000000001 0:500:1200 31:0:7
`,
    )
    assert.match(openNote(signCheckpoint(plain, signer), signer), /\nepoch 0\ntime [^\n]+\n$/)
  })

  test('any checkpoint is read as it was written (L4)', () => {
    const number = fc.nat().map(value => value * 4_000_000)
    const anyEnd = fc.record(
      {
        tenantId: fc.uuid(),
        writers: fc
          .uniqueArray(fc.nat(31), { maxLength: 5 })
          .map(all =>
            all.sort((a, b) => a - b).map(writer => ({ writer, first: writer, size: writer * 1_000 })),
          ),
      },
      { noNullPrototype: true },
    )
    fc.assert(
      fc.property(
        number,
        fc.array(fc.nat(100), { maxLength: 3 }),
        fc.option(anyEnd, { nil: undefined }),
        (size, starts, end) => {
          const checkpoint = {
            ...plain,
            size,
            epochStarts: starts.map(start => Math.min(start, size)),
            ...(end !== undefined && { end }),
          }
          const read = openCheckpoint(signCheckpoint(checkpoint, signer), signer)
          assert.deepEqual(read, { ...checkpoint, origin: signer.name })
        },
      ),
    )
  })

  test('lines that a later release adds are passed over (L4)', () => {
    const text = openNote(signCheckpoint(plain, signer), signer)
    assert.deepEqual(openCheckpoint(signNote(`${text}later 1\n`, signer), signer), {
      ...plain,
      origin: signer.name,
    })
  })

  const changes: Record<string, (text: string) => string> = {
    'of another origin': text => `x${text}`,
    'without a size': text => text.replace('\n17\n', '\n\n'),
    'with a leading zero': text => text.replace('\n17\n', '\n017\n'),
    'with a sign': text => text.replace('\n17\n', '\n+17\n'),
    'with a size that numbers cannot hold': text => text.replace('\n17\n', '\n9007199254740993\n'),
    'with a shorter root': text => text.replace(root.toString('base64'), 'AAAA'),
    'with a root that has a second form': text => text.replace(/[A-Za-z0-9+/]=\n/, '9=\n'),
    'without an epoch': text => text.replace('epoch 0\n', ''),
    'with an epoch whose start is missing': text => text.replace('epoch 0\n', 'epoch 1\n'),
    'with an epoch that begins later': text => text.replace('epoch 0\n', 'epoch 1 18\n'),
    'without a time': text => text.replace(/time .*\n/, ''),
    'with a time in another form': text => text.replace('.000+00:00', 'Z'),
    'on a day that does not exist': text => text.replace('2026-11-19', '2026-02-30'),
    'with two ends': text => `${text}end a\nend a\n`,
    'with an end after other lines': text => `${text}later\nend a\n`,
    'with an end of nobody': text => `${text}end \n`,
    'with writers twice': text => `${text}end a 1:0:1 1:0:2\n`,
    'with a writer that begins after its end': text => `${text}end a 1:3:2\n`,
    'with a second epoch': text => `${text}epoch 0\n`,
    'with a blank line': text => text.replace('epoch', '\nepoch'),
  }
  for (const [name, change] of Object.entries(changes))
    test(`a checkpoint is refused although it is signed: ${name} (L4)`, () => {
      const text = openNote(signCheckpoint(plain, signer), signer)
      assert.notEqual(change(text), text)
      assert.throws(
        () => openCheckpoint(signNote(change(text), signer), signer),
        refused('malformed checkpoint'),
      )
    })

  test('nothing is signed that could not be read again (L4)', () => {
    for (const wrong of [{ size: -1 }, { size: 1.5 }, { root: Buffer.alloc(31) }, { epochStarts: [18] }])
      assert.throws(() => signCheckpoint({ ...plain, ...wrong }, signer), refused('malformed checkpoint'))
    const end = { tenantId: 'a\nb', writers: [] }
    assert.throws(() => signCheckpoint({ ...plain, end }, signer), refused('malformed checkpoint'))
  })

  test('a head as a leaf (L6.4)', () => {
    assert.equal(
      headLeaf({ tenantId: 'tenant', writer: 3, size: 40, root }),
      `tenant 3 40 ${root.toString('base64')}`,
    )
  })
})
