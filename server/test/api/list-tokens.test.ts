import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { onEveryEngine } from '../rig/every-engine.ts'
import { sendAndExpect } from '../rig/scenario.ts'
import { devApplications, type TestVault } from '../rig/test-vault.ts'

const metadataKeys = (count: number): string =>
  Array.from({ length: count }, (_, index) => `metadata.k${index}=x`).join('&')

const bank = { routing_number: '021000021', account_number: '123456789' }

/** Created in this order, a second apart; lists show the newest first. */
const population = [
  {
    id: 'alpha',
    type: 'token',
    data: 'one',
    containers: ['/a/'],
    metadata: { colour: 'Blue', size: 'L', empty: '' },
  },
  {
    id: 'beta',
    type: 'token',
    data: 'two',
    containers: ['/a/b/'],
    metadata: { colour: 'blue', 'a.b': 'x y' },
  },
  { id: 'gamma', type: 'card', data: { number: '4242424242424242' }, metadata: { colour: 'RED', Size: 'L' } },
  { id: 'delta', type: 'bank', data: bank, metadata: { name: 'Caf\u00e9 "K"' } },
  {
    id: 'epsilon',
    type: 'token',
    data: 'one',
    containers: ['/ab/', '/pci/high/'],
    metadata: { name: 'CAFE\u0301 "k"' },
  },
]

/** For `fingerprint` the test fills in that of the token `one`. */
const filters: readonly { name: string; query: string; ids: readonly string[]; total?: number }[] = [
  { name: 'C24.4 no filter', query: '', ids: ['epsilon', 'delta', 'gamma', 'beta', 'alpha'] },
  { name: '§4.3.6 one id', query: 'id=alpha', ids: ['alpha'] },
  { name: '§4.3.6 C24.6 several ids', query: 'id=alpha&id=gamma', ids: ['gamma', 'alpha'] },
  { name: '§4.3.6 the same id twice', query: 'id=alpha&id=alpha', ids: ['alpha'] },
  { name: '§4.3.6 ids that no token has', query: 'id=unknown&id=ALPHA&id=', ids: [] },
  { name: '§4.3.6 a known id beside unknown ones', query: 'id=unknown&id=beta', ids: ['beta'] },
  { name: '§4.3.7 one type', query: 'type=token', ids: ['epsilon', 'beta', 'alpha'] },
  { name: '§4.3.7 C24.6 several types', query: 'type=card&type=bank', ids: ['delta', 'gamma'] },
  { name: '§4.3.7 a type that no token has', query: 'type=card_number', ids: [] },
  { name: 'C24.6 C19.3 a container and what is below it', query: 'container=/a/', ids: ['beta', 'alpha'] },
  { name: 'C24.6 C19.3 a nested container', query: 'container=/a/b/', ids: ['beta'] },
  { name: 'C24.6 C19.2 a container in upper case', query: 'container=/A/B/', ids: ['beta'] },
  { name: 'C24.6 the second container of a token', query: 'container=/pci/', ids: ['epsilon', 'gamma'] },
  { name: 'C24.6 C19.3 the root', query: 'container=/', ids: ['epsilon', 'delta', 'gamma', 'beta', 'alpha'] },
  { name: 'C24.6 a container that no token has', query: 'container=/a/b/c/', ids: [] },
  { name: 'C24.6 §2.1.7 a fingerprint', query: 'fingerprint=FINGERPRINT', ids: ['epsilon', 'alpha'] },
  { name: 'C24.6 a fingerprint that no token has', query: 'fingerprint=abc', ids: [] },
  {
    name: '§4.3.8 §4.3.2 metadata, whatever the letter case',
    query: 'metadata.colour=BLUE',
    ids: ['beta', 'alpha'],
  },
  { name: '§4.3.2 C24.9 a part of a value', query: 'metadata.colour=blu', ids: [] },
  { name: 'C24.9 the letter case of a key matters', query: 'metadata.size=l', ids: ['alpha'] },
  { name: 'C24.9 a key in the other letter case', query: 'metadata.Size=l', ids: ['gamma'] },
  {
    name: 'C24.9 values compared after NFC',
    query: `metadata.name=${encodeURIComponent('cafe\u0301 "K"')}`,
    ids: ['epsilon', 'delta'],
  },
  { name: '§4.3.3 two keys', query: 'metadata.colour=blue&metadata.size=L', ids: ['alpha'] },
  {
    name: '§4.3.3 two keys that no token has together',
    query: 'metadata.colour=red&metadata.size=L',
    ids: [],
  },
  {
    name: '§4.3.1 C24.8 the first value of a repeated key counts',
    query: 'metadata.colour=red&metadata.colour=blue',
    ids: ['gamma'],
  },
  { name: '§4.3.8 an empty value', query: 'metadata.empty=', ids: ['alpha'] },
  { name: '§4.3.8 a key without a value', query: 'metadata.empty', ids: ['alpha'] },
  { name: '§4.3.8 a dot in a key and a plus for a space', query: 'metadata.a.b=X+Y', ids: ['beta'] },
  { name: '§4.3.8 a percent-encoded key and value', query: 'metadata%2Ea%2Eb=x%20y', ids: ['beta'] },
  { name: '§4.3.8 a key in brackets', query: 'metadata[colour]=BLUE', ids: ['beta', 'alpha'] },
  {
    name: '§4.3.3 §4.3.8 a key in percent-encoded brackets and one after a dot',
    query: 'metadata%5Ba.b%5D=x%20y&metadata.colour=blue',
    ids: ['beta'],
  },
  {
    name: '§4.3.1 a key repeated in the other spelling',
    query: 'metadata[colour]=red&metadata.colour=blue',
    ids: ['gamma'],
  },
  { name: '§4.3.8 a line break in a key', query: 'metadata.two%0Alines=x&metadata[two%0Alines]=x', ids: [] },
  { name: '§4.3.8 a key that no token has', query: 'metadata.none=x', ids: [] },
  { name: 'C8.7 fifty metadata keys', query: metadataKeys(50), ids: [] },
  {
    name: '§4.3.8 keys that objects inherit',
    query: 'metadata.constructor=x&metadata.__proto__=x',
    ids: [],
  },
  {
    name: 'C24.6 metadata as one JSON parameter',
    query: `metadata=${encodeURIComponent('{"colour":"bLUE","size":"l"}')}`,
    ids: ['alpha'],
  },
  {
    name: '§4.3.1 C24.8 the first value of a key repeated in a JSON parameter counts',
    query: `metadata=${encodeURIComponent('{"colour" : "red", "colour":"blue"}')}`,
    ids: ['gamma'],
  },
  {
    name: 'C24.6 quotes, colons and escapes in a JSON parameter',
    query: `metadata=${encodeURIComponent('{"\\u0063olour":"r\\u0065d","size":"\\"colour\\":\\"blue\\""}')}`,
    ids: [],
  },
  {
    name: 'C24.6 escapes in a JSON parameter',
    query: `metadata=${encodeURIComponent('{"\\u0063olour":"r\\u0065d"}')}`,
    ids: ['gamma'],
  },
  {
    name: 'C24.6 C24.7 both spellings of metadata',
    query: `metadata=${encodeURIComponent('{"colour":"blue"}')}&metadata.size=L`,
    ids: ['alpha'],
  },
  {
    name: 'C24.7 both spellings of one key, and they agree',
    query: `metadata=${encodeURIComponent('{"size":"l"}')}&metadata.size=L`,
    ids: ['alpha'],
  },
  {
    name: 'C24.7 both spellings of one key, and no token matches both',
    query: `metadata=${encodeURIComponent('{"size":"other"}')}&metadata.size=L`,
    ids: [],
  },
  {
    name: 'C24.6 an empty JSON parameter',
    query: 'metadata={}',
    ids: ['epsilon', 'delta', 'gamma', 'beta', 'alpha'],
  },
  {
    name: 'C24.6 __proto__ in a JSON parameter',
    query: `metadata=${encodeURIComponent('{"__proto__":"x"}')}`,
    ids: [],
  },
  { name: 'C24.7 type and container', query: 'type=token&container=/a/', ids: ['beta', 'alpha'] },
  { name: 'C24.7 type and id', query: 'type=token&id=gamma&id=beta', ids: ['beta'] },
  {
    name: 'C24.7 C24.10 type and ids, more than the page holds',
    query: 'type=token&id=alpha&id=beta&size=1',
    ids: ['beta'],
    total: 2,
  },
  {
    name: 'C24.7 every filter at once',
    query:
      'id=alpha&id=epsilon&type=token&type=card&container=/a/&fingerprint=FINGERPRINT&metadata.colour=blue&page=1&size=5',
    ids: ['alpha'],
  },
  {
    name: 'C24.7 fingerprint and container',
    query: 'fingerprint=FINGERPRINT&container=/ab/',
    ids: ['epsilon'],
  },
  { name: '§4.3.4 an empty query', query: '&&', ids: ['epsilon', 'delta', 'gamma', 'beta', 'alpha'] },
]

const refused: readonly {
  name: string
  query: string
  errors: readonly string[]
  absent?: readonly string[]
}[] = [
  {
    name: 'C6.3 an unknown parameter',
    query: 'colour=ultramarine',
    errors: ['colour'],
    absent: ['ultramarine'],
  },
  { name: 'C6.3 a parameter in the wrong letter case', query: 'Type=token', errors: ['Type'] },
  {
    name: 'C6.3 C2.7 a parameter that could be a card number',
    query: 'page=1&4242424242424242=x',
    errors: ['[key 2]'],
    absent: ['4242424242424242'],
  },
  { name: 'C6.3 C2.6 a long parameter', query: `${'p'.repeat(100)}=1`, errors: ['p'.repeat(64)] },
  { name: 'C6.3 metadata with empty brackets', query: 'metadata[]=x', errors: ['metadata[]'] },
  { name: 'C6.3 metadata with an open bracket', query: 'metadata[colour=x', errors: ['metadata[colour'] },
  { name: 'C6.3 metadata without a key', query: 'metadata.=x', errors: ['metadata.'] },
  { name: 'C6.3 a bare equals sign', query: '=x', errors: ['[key 1]'] },
  { name: 'C24.2 page 0', query: 'page=0', errors: ['page'] },
  { name: 'C24.2 a negative page', query: 'page=-1', errors: ['page'] },
  { name: 'C24.2 a page that is not an integer', query: 'page=1.0', errors: ['page'] },
  { name: 'C24.2 a page that is not a number', query: 'page=second', errors: ['page'], absent: ['second'] },
  { name: 'C24.2 an empty page', query: 'page=', errors: ['page'] },
  {
    name: 'C24.2 a huge page',
    query: 'page=99999999999999999999',
    errors: ['page'],
    absent: ['9999999999'],
  },
  { name: 'C24.2 size 0', query: 'size=0', errors: ['size'] },
  { name: 'C24.2 C8.13 size 101', query: 'size=101', errors: ['size'] },
  { name: 'C24.2 a size that is not an integer', query: 'size=1e1', errors: ['size'] },
  { name: 'C24.2 a bad size and a bad page', query: 'size=0&page=0', errors: ['size', 'page'] },
  { name: 'C6.3 a repeated page', query: 'page=1&page=2', errors: ['page'] },
  { name: 'C6.3 a repeated size', query: 'size=1&size=1', errors: ['size'] },
  { name: 'C6.3 a repeated container', query: 'container=/a/&container=/b/', errors: ['container'] },
  { name: 'C6.3 a repeated fingerprint', query: 'fingerprint=a&fingerprint=b', errors: ['fingerprint'] },
  { name: 'C6.3 repeated JSON metadata', query: 'metadata={}&metadata={}', errors: ['metadata'] },
  { name: 'C9.9 an unknown type', query: 'type=token&type=passport', errors: ['type'], absent: ['passport'] },
  {
    name: 'C19.1 an invalid container',
    query: 'container=nowhere',
    errors: ['container'],
    absent: ['nowhere'],
  },
  {
    name: 'C24.6 metadata that is not JSON',
    query: 'metadata=colour',
    errors: ['metadata'],
    absent: ['colour'],
  },
  ...['[1]', '["a"]', 'null', '"ab"', '7'].map(json => ({
    name: 'C24.6 metadata that is not an object',
    query: `metadata=${encodeURIComponent(json)}`,
    errors: ['metadata'],
  })),
  { name: 'C8.7 fifty-one metadata keys', query: metadataKeys(51), errors: ['metadata'] },
  {
    name: 'C24.6 metadata whose values are not strings',
    query: `metadata=${encodeURIComponent('{"a":12345678}')}`,
    errors: ['metadata'],
    absent: ['12345678'],
  },
  {
    name: 'C24.6 metadata with a number that no double holds',
    query: `metadata=${encodeURIComponent('{"a":12345678901234567890}')}`,
    errors: ['metadata'],
    absent: ['12345678901234567'],
  },
]

onEveryEngine('list tokens', vault => {
  let keys: Record<keyof typeof devApplications, string>
  let fingerprint: string
  before(async () => {
    keys = (await vault().tenant(devApplications)).keys
    for (const body of population) {
      const made = await vault().create(keys.general, body)
      if (body.id === 'alpha') fingerprint = made.fingerprint
      vault().now += 1_000
    }
  })

  for (const { name, query, ids, total = ids.length } of filters)
    test(`${name}: ?${query.slice(0, 80)} finds ${total}`, async () => {
      const reply = await vault().get(`/tokens?${query.replace('FINGERPRINT', fingerprint)}`, keys.private)
      assert.equal(reply.status, 200, reply.text)
      assert.deepEqual(idsOf(reply.body), ids)
      assert.equal(reply.body.pagination.total_items, total)
    })

  for (const { name, query, errors, absent = [] } of refused)
    test(`${name}: ?${query.slice(0, 80)} is refused`, async () => {
      await sendAndExpect(
        vault(),
        { key: keys.private, counter: keys.private },
        { method: 'GET', path: `/tokens?${query}` },
        { status: 400, errors, absent },
      )
    })

  test('C6.2 C6.3 the refusal of a misspelt filter suggests the right name', async () => {
    const reply = await vault().get('/tokens?containers=/a/', keys.private)
    assert.match(reply.body.errors.containers[0], /did you mean container\?/)
  })

  test('C24.6 C8.13 a hundred ids are fine, one more is too many', async () => {
    const ids = (count: number): string =>
      Array.from({ length: count }, (_, at) => `id=unknown-${at}`).join('&')
    const most = await vault().get(`/tokens?${ids(99)}&id=alpha`, keys.private)
    assert.deepEqual(idsOf(most.body), ['alpha'])
    const again = await vault().get(`/tokens?${ids(99)}&${ids(99)}&id=alpha`, keys.private)
    assert.deepEqual(idsOf(again.body), ['alpha'], 'repeated ones count once')
    const reply = await vault().get(`/tokens?${ids(101)}`, keys.private)
    assert.deepEqual(Object.keys(reply.body.errors), ['id'])
  })

  test('§2.6.1 §4.3.9 §4.3.10 each entry is the token as a get shows it', async () => {
    const { body } = await vault().get('/tokens', keys.private)
    assert.deepEqual(Object.keys(body).sort(), ['data', 'pagination'])
    for (const entry of body.data)
      assert.deepEqual(entry, (await vault().get(`/tokens/${entry.id}`, keys.private)).body)
  })

  test('§1.3 a tenant sees no tokens of another', async () => {
    const other = await vault().tenant(devApplications)
    for (const query of [
      '',
      'id=alpha',
      'type=token',
      'metadata.colour=blue',
      'container=/',
      `fingerprint=${fingerprint}`,
    ]) {
      const { body } = await vault().get(`/tokens?${query}`, other.keys.private)
      assert.deepEqual(body, {
        pagination: { total_items: 0, page_number: 1, page_size: 20, total_pages: 0 },
        data: [],
      })
    }
  })
})

const idsOf = (body: Awaited<ReturnType<TestVault['get']>>['body']): string[] =>
  body.data.map(({ id }: { id: string }) => id)
