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
  { name: 'no filter (C24.4)', query: '', ids: ['epsilon', 'delta', 'gamma', 'beta', 'alpha'] },
  { name: 'one id (§4.3.6)', query: 'id=alpha', ids: ['alpha'] },
  { name: 'several ids (§4.3.6, C24.6)', query: 'id=alpha&id=gamma', ids: ['gamma', 'alpha'] },
  { name: 'the same id twice (§4.3.6)', query: 'id=alpha&id=alpha', ids: ['alpha'] },
  { name: 'ids that no token has (§4.3.6)', query: 'id=unknown&id=ALPHA&id=', ids: [] },
  { name: 'a known id beside unknown ones (§4.3.6)', query: 'id=unknown&id=beta', ids: ['beta'] },
  { name: 'one type (§4.3.7)', query: 'type=token', ids: ['epsilon', 'beta', 'alpha'] },
  { name: 'several types (§4.3.7, C24.6)', query: 'type=card&type=bank', ids: ['delta', 'gamma'] },
  { name: 'a type that no token has (§4.3.7)', query: 'type=card_number', ids: [] },
  { name: 'a container and what is below it (C24.6, C19.3)', query: 'container=/a/', ids: ['beta', 'alpha'] },
  { name: 'a nested container (C24.6, C19.3)', query: 'container=/a/b/', ids: ['beta'] },
  { name: 'a container in upper case (C24.6, C19.2)', query: 'container=/A/B/', ids: ['beta'] },
  { name: 'the second container of a token (C24.6)', query: 'container=/pci/', ids: ['epsilon', 'gamma'] },
  {
    name: 'the root (C24.6, C19.3)',
    query: 'container=/',
    ids: ['epsilon', 'delta', 'gamma', 'beta', 'alpha'],
  },
  { name: 'a container that no token has (C24.6)', query: 'container=/a/b/c/', ids: [] },
  { name: 'a fingerprint (C24.6, §2.1.7)', query: 'fingerprint=FINGERPRINT', ids: ['epsilon', 'alpha'] },
  { name: 'a fingerprint that no token has (C24.6)', query: 'fingerprint=abc', ids: [] },
  {
    name: 'metadata, whatever the letter case (§4.3.8, §4.3.2)',
    query: 'metadata.colour=BLUE',
    ids: ['beta', 'alpha'],
  },
  { name: 'a part of a value (§4.3.2, C24.9)', query: 'metadata.colour=blu', ids: [] },
  { name: 'the letter case of a key matters (C24.9)', query: 'metadata.size=l', ids: ['alpha'] },
  { name: 'a key in the other letter case (C24.9)', query: 'metadata.Size=l', ids: ['gamma'] },
  {
    name: 'values compared after NFC (C24.9)',
    query: `metadata.name=${encodeURIComponent('cafe\u0301 "K"')}`,
    ids: ['epsilon', 'delta'],
  },
  { name: 'two keys (§4.3.3)', query: 'metadata.colour=blue&metadata.size=L', ids: ['alpha'] },
  {
    name: 'two keys that no token has together (§4.3.3)',
    query: 'metadata.colour=red&metadata.size=L',
    ids: [],
  },
  {
    name: 'the first value of a repeated key counts (§4.3.1, C24.8)',
    query: 'metadata.colour=red&metadata.colour=blue',
    ids: ['gamma'],
  },
  { name: 'an empty value (§4.3.8)', query: 'metadata.empty=', ids: ['alpha'] },
  { name: 'a key without a value (§4.3.8)', query: 'metadata.empty', ids: ['alpha'] },
  { name: 'a dot in a key and a plus for a space (§4.3.8)', query: 'metadata.a.b=X+Y', ids: ['beta'] },
  { name: 'a percent-encoded key and value (§4.3.8)', query: 'metadata%2Ea%2Eb=x%20y', ids: ['beta'] },
  { name: 'a key in brackets (§4.3.8)', query: 'metadata[colour]=BLUE', ids: ['beta', 'alpha'] },
  {
    name: 'a key in percent-encoded brackets and one after a dot (§4.3.3, §4.3.8)',
    query: 'metadata%5Ba.b%5D=x%20y&metadata.colour=blue',
    ids: ['beta'],
  },
  {
    name: 'a key repeated in the other spelling (§4.3.1)',
    query: 'metadata[colour]=red&metadata.colour=blue',
    ids: ['gamma'],
  },
  {
    name: 'a line break in a key (§4.3.8)',
    query: 'metadata.two%0Alines=x&metadata[two%0Alines]=x',
    ids: [],
  },
  { name: 'a key that no token has (§4.3.8)', query: 'metadata.none=x', ids: [] },
  { name: 'fifty metadata keys (C8.7)', query: metadataKeys(50), ids: [] },
  {
    name: 'keys that objects inherit (§4.3.8)',
    query: 'metadata.constructor=x&metadata.__proto__=x',
    ids: [],
  },
  {
    name: 'metadata as one JSON parameter (C24.6)',
    query: `metadata=${encodeURIComponent('{"colour":"bLUE","size":"l"}')}`,
    ids: ['alpha'],
  },
  {
    name: 'the first value of a key repeated in a JSON parameter counts (§4.3.1, C24.8)',
    query: `metadata=${encodeURIComponent('{"colour" : "red", "colour":"blue"}')}`,
    ids: ['gamma'],
  },
  {
    name: 'quotes, colons and escapes in a JSON parameter (C24.6)',
    query: `metadata=${encodeURIComponent('{"\\u0063olour":"r\\u0065d","size":"\\"colour\\":\\"blue\\""}')}`,
    ids: [],
  },
  {
    name: 'escapes in a JSON parameter (C24.6)',
    query: `metadata=${encodeURIComponent('{"\\u0063olour":"r\\u0065d"}')}`,
    ids: ['gamma'],
  },
  {
    name: 'both spellings of metadata (C24.6, C24.7)',
    query: `metadata=${encodeURIComponent('{"colour":"blue"}')}&metadata.size=L`,
    ids: ['alpha'],
  },
  {
    name: 'both spellings of one key, and they agree (C24.7)',
    query: `metadata=${encodeURIComponent('{"size":"l"}')}&metadata.size=L`,
    ids: ['alpha'],
  },
  {
    name: 'both spellings of one key, and no token matches both (C24.7)',
    query: `metadata=${encodeURIComponent('{"size":"other"}')}&metadata.size=L`,
    ids: [],
  },
  {
    name: 'an empty JSON parameter (C24.6)',
    query: 'metadata={}',
    ids: ['epsilon', 'delta', 'gamma', 'beta', 'alpha'],
  },
  {
    name: '__proto__ in a JSON parameter (C24.6)',
    query: `metadata=${encodeURIComponent('{"__proto__":"x"}')}`,
    ids: [],
  },
  { name: 'type and container (C24.7)', query: 'type=token&container=/a/', ids: ['beta', 'alpha'] },
  { name: 'type and id (C24.7)', query: 'type=token&id=gamma&id=beta', ids: ['beta'] },
  {
    name: 'type and ids, more than the page holds (C24.7, C24.10)',
    query: 'type=token&id=alpha&id=beta&size=1',
    ids: ['beta'],
    total: 2,
  },
  {
    name: 'every filter at once (C24.7)',
    query:
      'id=alpha&id=epsilon&type=token&type=card&container=/a/&fingerprint=FINGERPRINT&metadata.colour=blue&page=1&size=5',
    ids: ['alpha'],
  },
  {
    name: 'fingerprint and container (C24.7)',
    query: 'fingerprint=FINGERPRINT&container=/ab/',
    ids: ['epsilon'],
  },
  { name: 'an empty query (§4.3.4)', query: '&&', ids: ['epsilon', 'delta', 'gamma', 'beta', 'alpha'] },
]

const refused: readonly {
  name: string
  query: string
  errors: readonly string[]
  absent?: readonly string[]
}[] = [
  {
    name: 'an unknown parameter (C6.3)',
    query: 'colour=ultramarine',
    errors: ['colour'],
    absent: ['ultramarine'],
  },
  { name: 'a parameter in the wrong letter case (C6.3)', query: 'Type=token', errors: ['Type'] },
  {
    name: 'a parameter that could be a card number (C6.3, C2.7)',
    query: 'page=1&4242424242424242=x',
    errors: ['[key 2]'],
    absent: ['4242424242424242'],
  },
  { name: 'a long parameter (C6.3, C2.6)', query: `${'p'.repeat(100)}=1`, errors: ['p'.repeat(64)] },
  { name: 'metadata with empty brackets (C6.3)', query: 'metadata[]=x', errors: ['metadata[]'] },
  { name: 'metadata with an open bracket (C6.3)', query: 'metadata[colour=x', errors: ['metadata[colour'] },
  { name: 'metadata without a key (C6.3)', query: 'metadata.=x', errors: ['metadata.'] },
  { name: 'a bare equals sign (C6.3)', query: '=x', errors: ['[key 1]'] },
  { name: 'page 0 (C24.2)', query: 'page=0', errors: ['page'] },
  { name: 'a negative page (C24.2)', query: 'page=-1', errors: ['page'] },
  { name: 'a page that is not an integer (C24.2)', query: 'page=1.0', errors: ['page'] },
  { name: 'a page that is not a number (C24.2)', query: 'page=second', errors: ['page'], absent: ['second'] },
  { name: 'an empty page (C24.2)', query: 'page=', errors: ['page'] },
  {
    name: 'a huge page (C24.2)',
    query: 'page=99999999999999999999',
    errors: ['page'],
    absent: ['9999999999'],
  },
  { name: 'size 0 (C24.2)', query: 'size=0', errors: ['size'] },
  { name: 'size 101 (C24.2, C8.13)', query: 'size=101', errors: ['size'] },
  { name: 'a size that is not an integer (C24.2)', query: 'size=1e1', errors: ['size'] },
  { name: 'a bad size and a bad page (C24.2)', query: 'size=0&page=0', errors: ['size', 'page'] },
  { name: 'a repeated page (C6.3)', query: 'page=1&page=2', errors: ['page'] },
  { name: 'a repeated size (C6.3)', query: 'size=1&size=1', errors: ['size'] },
  { name: 'a repeated container (C6.3)', query: 'container=/a/&container=/b/', errors: ['container'] },
  { name: 'a repeated fingerprint (C6.3)', query: 'fingerprint=a&fingerprint=b', errors: ['fingerprint'] },
  { name: 'repeated JSON metadata (C6.3)', query: 'metadata={}&metadata={}', errors: ['metadata'] },
  {
    name: 'an unknown type (C9.9)',
    query: 'type=token&type=passport',
    errors: ['type'],
    absent: ['passport'],
  },
  {
    name: 'an invalid container (C19.1)',
    query: 'container=nowhere',
    errors: ['container'],
    absent: ['nowhere'],
  },
  {
    name: 'metadata that is not JSON (C24.6)',
    query: 'metadata=colour',
    errors: ['metadata'],
    absent: ['colour'],
  },
  ...['[1]', '["a"]', 'null', '"ab"', '7'].map(json => ({
    name: 'metadata that is not an object (C24.6)',
    query: `metadata=${encodeURIComponent(json)}`,
    errors: ['metadata'],
  })),
  { name: 'fifty-one metadata keys (C8.7)', query: metadataKeys(51), errors: ['metadata'] },
  {
    name: 'metadata whose values are not strings (C24.6)',
    query: `metadata=${encodeURIComponent('{"a":12345678}')}`,
    errors: ['metadata'],
    absent: ['12345678'],
  },
  {
    name: 'metadata with a number that no double holds (C24.6)',
    query: `metadata=${encodeURIComponent('{"a":12345678901234567890}')}`,
    errors: ['metadata'],
    absent: ['12345678901234567'],
  },
]

onEveryEngine('list tokens', (vault, aboveStorage) => {
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

  aboveStorage(() => {
    for (const { name, query, errors, absent = [] } of refused)
      test(`${name}: ?${query.slice(0, 80)} is refused`, async () => {
        await sendAndExpect(
          vault(),
          { key: keys.private, counter: keys.private },
          { method: 'GET', path: `/tokens?${query}` },
          { status: 400, errors, absent },
        )
      })

    test('the refusal of a misspelt filter suggests the right name (C6.2, C6.3)', async () => {
      const reply = await vault().get('/tokens?containers=/a/', keys.private)
      assert.match(reply.body.errors.containers[0], /did you mean container\?/)
    })

    test('a hundred ids are fine, one more is too many (C24.6, C8.13)', async () => {
      const ids = (count: number): string =>
        Array.from({ length: count }, (_, at) => `id=unknown-${at}`).join('&')
      const most = await vault().get(`/tokens?${ids(99)}&id=alpha`, keys.private)
      assert.deepEqual(idsOf(most.body), ['alpha'])
      const again = await vault().get(`/tokens?${ids(99)}&${ids(99)}&id=alpha`, keys.private)
      assert.deepEqual(idsOf(again.body), ['alpha'], 'repeated ones count once')
      const reply = await vault().get(`/tokens?${ids(101)}`, keys.private)
      assert.deepEqual(Object.keys(reply.body.errors), ['id'])
    })
  })

  test('each entry is the token as a get shows it (§2.6.1, §4.3.9, §4.3.10)', async () => {
    const { body } = await vault().get('/tokens', keys.private)
    assert.deepEqual(Object.keys(body).sort(), ['data', 'pagination'])
    for (const entry of body.data)
      assert.deepEqual(entry, (await vault().get(`/tokens/${entry.id}`, keys.private)).body)
  })

  test('a tenant sees no tokens of another (§1.3)', async () => {
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
