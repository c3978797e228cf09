import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tokenIdFault } from '../../../src/domain/tokens/token-id.ts'
import { anyCharacter } from '../../rig/any-character.ts'
import { fc } from '../../rig/properties.ts'

const rule =
  'must have 3 to 400 characters, and none of # / \\ + ? [ ] | & = % < > { } ^ or control characters'

test('an id has 3 to 400 code points (C8)', () => {
  const face = '\u{1f600}'
  for (const id of ['abc', '...', 'a b', 'e\u0301x', 'x'.repeat(400), face.repeat(3), face.repeat(400)])
    assert.equal(tokenIdFault(id), undefined, id)
  for (const id of [
    '',
    'a',
    '.',
    '..',
    'ab',
    face.repeat(2),
    face.repeat(401),
    'x'.repeat(401),
    'x'.repeat(1_000_000),
  ])
    assert.equal(tokenIdFault(id), rule)
})

test('ids of common forms are accepted (C8)', () => {
  const ids = [
    '0191d3a4-7c1e-7b3a-8f00-1f2e3d4c5b6a',
    'user:42',
    'a.b_c-d~e',
    "O'Neill, (Ann)",
    'größe',
    '4242XXXXXXXX4242',
    '$!*;@"`',
  ]
  for (const id of ids) assert.equal(tokenIdFault(id), undefined, id)
})

const forbidden = [
  ...'#/\\+?[]|&=%<>{}^',
  '\u0000',
  '\t',
  '\n',
  '\u001f',
  '\u007f',
  '\u0080',
  '\u009f',
  '\u2028',
  '\u2029',
  '\ud800',
  '\udc00',
]
for (const character of forbidden)
  test(`an id must not contain ${JSON.stringify(character)} (C8)`, () => {
    for (const id of [`${character}abc`, `ab${character}cd`, `abc${character}`])
      assert.equal(tokenIdFault(id), rule)
  })

test('the message is fixed, and an accepted id survives a URL path (C2)', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, minLength: 3, maxLength: 60 }), id => {
      const message = tokenIdFault(id)
      if (message !== undefined) assert.equal(message, rule)
      else
        assert.equal(
          decodeURIComponent(new URL(`http://x/tokens/${encodeURIComponent(id)}`).pathname),
          `/tokens/${id}`,
        )
    }),
  )
})
