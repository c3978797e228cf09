import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../src/domain/limits.ts'
import { onOneEngine } from '../rig/every-engine.ts'
import { sendAndExpect } from '../rig/scenario.ts'
import { owner } from '../rig/test-vault.ts'

onOneEngine('names that JavaScript objects inherit', 'storage holds it sealed', vault => {
  const strange = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'valueOf']
  const json = (name: string, value: string): string => `{${JSON.stringify(name)}:${value}}`

  test('they are refused as unknown fields of a body (C6.1, C7.2)', async () => {
    const { keys } = await vault().tenant({ owner })
    const key = keys.owner
    await vault().create(key, { id: 'a-token', type: 'token', data: {} })
    for (const name of strange)
      for (const value of ['null', '{"type":"token","data":"x"}', '"polluted"']) {
        const create = `{"type":"token","data":"x",${JSON.stringify(name)}:${value}}`
        const caller = { key, counter: key }
        const expect = { status: 400, errors: [name], absent: ['polluted'] }
        await sendAndExpect(vault(), caller, { method: 'POST', path: '/tokens', raw: create }, expect)
        await sendAndExpect(vault(), caller, { method: 'POST', path: '/tokenize', raw: create }, expect)
        await sendAndExpect(
          vault(),
          caller,
          { method: 'PATCH', path: '/tokens/a-token', raw: json(name, value) },
          expect,
        )
      }
  })

  test('they are refused as unknown properties of a card (C10.7, C7.2)', async () => {
    const { keys } = await vault().tenant({ owner })
    for (const name of strange) {
      const data = `{"number":"4242424242424242",${JSON.stringify(name)}:{"cvc":"123"}}`
      await sendAndExpect(
        vault(),
        { key: keys.owner, counter: keys.owner },
        { method: 'POST', path: '/tokens', raw: `{"type":"card","data":${data}}` },
        { status: 400, errors: [`data.${name}`] },
      )
    }
  })

  test('they name no type, filter, variable or property (C9.9, C20.4, C20.6)', async () => {
    const { keys } = await vault().tenant({ owner })
    for (const name of strange) {
      assert.equal((await vault().post('/tokens', keys.owner, { type: name, data: 1 })).status, 400)
      const filter = await vault().post('/tokens', keys.owner, {
        type: 'token',
        data: {},
        mask: `{{ data | ${name} }}`,
      })
      assert.deepEqual(Object.keys(filter.body.errors), ['mask'])
      const variable = await vault().post('/tokens', keys.owner, {
        type: 'token',
        data: {},
        mask: `{{ ${name} }}`,
      })
      assert.deepEqual(Object.keys(variable.body.errors), ['mask'])
      for (const data of [{}, [], 'text', 1]) {
        const made = await vault().create(keys.owner, {
          type: 'token',
          data,
          mask: { a: `{{ data.${name} }}`, b: `{{ data["${name}"]["x"] }}` },
        })
        assert.deepEqual(made.data, {})
      }
    }
  })

  test('they are ordinary names in data, masks and metadata (C7.2)', async () => {
    const { keys } = await vault().tenant({ owner })
    for (const name of strange) {
      const raw = `{"type":"token","data":${json(name, '{"polluted":1}')},"mask":${json(name, `"{{ data.${name}.polluted }}"`)},"metadata":${json(name, '"Value"')}}`
      const created = await vault().send('POST', '/tokens', { key: keys.owner, raw })
      assert.equal(created.status, 201, created.text)
      assert.ok(created.text.includes(`"data":${json(name, '1')}`))
      const read = await vault().get(`/tokens/${created.body.id}`, keys.owner)
      assert.ok(read.text.includes(`"data":${json(name, '{"polluted":1}')}`))
      assert.ok(read.text.includes(`"metadata":${json(name, '"Value"')}`))
      const found = await vault().get(`/tokens?metadata.${name}=value`, keys.owner)
      assert.equal(found.body.pagination.total_items, 1)
      const patch = `{"data":${json(name, '{"polluted":null,"more":2}')},"metadata":${json(name, 'null')}}`
      const patched = await vault().send('PATCH', `/tokens/${created.body.id}`, {
        key: keys.owner,
        raw: patch,
      })
      assert.equal(patched.status, 200, patched.text)
      const after = await vault().get(`/tokens/${created.body.id}`, keys.owner)
      assert.ok(after.text.includes(`"data":${json(name, '{"more":2}')}`))
      assert.deepEqual(after.body.metadata, {})
    }
    assert.equal(
      (await vault().get('/tokens?metadata.constructor=value', keys.owner)).body.pagination.total_items,
      0,
    )
  })

  test('they stay in place as keys of a payload (C7.2)', async () => {
    const { keys } = await vault().tenant({ owner })
    for (const name of strange) {
      const { status, text } = await vault().send('POST', '/tokenize', {
        key: keys.owner,
        raw: json(name, json(name, '"x"')),
      })
      assert.equal(status, 200)
      assert.match(text, new RegExp(`^\\{"${name}":\\{"${name}":"[0-9a-f-]{36}"\\}\\}\\n$`))
    }
  })

  // The service runs in this process: if anything had been polluted, it would show here.
  test('none of them reaches a prototype (C7.2)', () => {
    assert.equal(({} as { polluted?: unknown }).polluted, undefined)
    assert.equal(({} as { type?: unknown }).type, undefined)
    assert.deepEqual(Object.keys(Object.prototype), [])
  })
})

onOneEngine('exact numbers and odd texts', 'storage holds them sealed', vault => {
  const numbers = [
    '12345678901234567890',
    '1e400',
    '-1e400',
    '1E+400',
    '0.1234567890123456789',
    '1e-400',
    '123456789012345678901234567890.5',
    '-9007199254740993',
  ]

  test('numbers that doubles cannot hold come back exactly as sent, wherever they are (C7.1)', async () => {
    const { keys } = await vault().tenant({ owner, masked: { permissions: ['token:read'] } })
    for (const number of numbers) {
      const data = `{"a":${number},"b":[1,${number},{"c":${number}}]}`
      const raw = `{"type":"token","data":${data},"mask":{"whole":"{{ data }}","one":"{{ data.a }}","fixed":${number}}}`
      const created = await vault().send('POST', '/tokens', { key: keys.owner, raw })
      assert.equal(created.status, 201, created.text)
      const masked = `{"whole":${data},"one":${number},"fixed":${number}}`
      assert.ok(created.text.includes(`"data":${masked}`), created.text)
      const path = `/tokens/${created.body.id}`
      assert.ok((await vault().get(path, keys.owner)).text.includes(`"data":${data}`))
      assert.ok((await vault().get(path, keys.masked)).text.includes(`"data":${masked}`))
      assert.ok((await vault().get('/tokens?size=1', keys.owner)).text.includes(`"data":${data}`))
      vault().now += 1
    }
  })

  test('such numbers also survive alone in a payload and through updates (C7.1, C23.1, C18.4)', async () => {
    const { keys } = await vault().tenant({ owner })
    for (const number of numbers) {
      const { text } = await vault().send('POST', '/tokenize', { key: keys.owner, raw: `[${number}]` })
      const [id] = JSON.parse(text)
      assert.ok((await vault().get(`/tokens/${id}`, keys.owner)).text.includes(`"data":${number},`))
      const set = await vault().send('PATCH', `/tokens/${id}`, {
        key: keys.owner,
        raw: `{"data":{"kept":${number},"gone":${number}}}`,
      })
      assert.equal(set.status, 200)
      await vault().send('PATCH', `/tokens/${id}`, {
        key: keys.owner,
        raw: '{"data":{"gone":null,"more":1}}',
      })
      const read = await vault().get(`/tokens/${id}`, keys.owner)
      assert.ok(read.text.includes(`"data":{"kept":${number},"more":1}`), read.text)
    }
  })

  test('numbers count as long as they are written in full, on create, in a payload and in a patch (C8.1)', async () => {
    const { keys } = await vault().tenant({ owner })
    const numbers = (count: number): string => `[${Array(count).fill('1e20').join()}]`
    const perNumber = '100000000000000000000,'.length
    const fitting = Math.floor((limits.bodyBytes - 2) / perNumber)
    const send = (method: string, path: string, raw: string) =>
      vault().send(method, path, { key: keys.owner, raw })
    const made = await send('POST', '/tokens', `{"type":"token","data":${numbers(fitting)}}`)
    assert.equal(made.status, 201)
    const tooMany = `{"type":"token","data":${numbers(fitting + 1)}}`
    const refused = [
      await send('POST', '/tokens', tooMany),
      await send('POST', '/tokenize', `[${tooMany}]`),
      await send('PATCH', `/tokens/${made.body.id}`, `{"data":${numbers(fitting + 1)}}`),
    ]
    for (const reply of refused) {
      assert.equal(reply.status, 400)
      assert.match(
        Object.values(reply.body.errors).join(),
        /^must have at most \d+ bytes, with numbers in full$/,
      )
    }
  })

  test('an exact number is refused where an object, a string or a month is expected (C7.1, C10.1, C10.2, C2.5)', async () => {
    const { keys } = await vault().tenant({ owner })
    const bodies: readonly { raw: string; place: string }[] = [
      { raw: '{"type":"card","data":12345678901234567890}', place: 'data' },
      { raw: '{"type":"card","data":{"number":12345678901234567890}}', place: 'data.number' },
      {
        raw: '{"type":"card","data":{"number":"4242424242424242","expiration_month":1e400}}',
        place: 'data.expiration_month',
      },
      {
        raw: '{"type":"card","data":{"number":"4242424242424242","cvc":12345678901234567890}}',
        place: 'data.cvc',
      },
      {
        raw: '{"type":"bank","data":{"routing_number":12345678901234567890,"account_number":"1"}}',
        place: 'data.routing_number',
      },
      { raw: '{"type":"card_number","data":12345678901234567890}', place: 'data' },
      { raw: '{"type":"token","data":1,"metadata":{"k":12345678901234567890}}', place: 'metadata.k' },
      { raw: '{"type":"token","data":1,"containers":[12345678901234567890]}', place: 'containers[0]' },
      { raw: '{"type":"token","data":1,"search_indexes":[1e400]}', place: 'search_indexes[0]' },
      { raw: '{"type":"token","data":12345678901234567890,"mask":"{{ data | plus: 1 }}"}', place: 'mask' },
      { raw: '{"type":"token","data":1,"rawJSON":1e400}', place: 'rawJSON' },
    ]
    for (const { raw, place } of bodies)
      await sendAndExpect(
        vault(),
        { key: keys.owner, counter: keys.owner },
        { method: 'POST', path: '/tokens', raw },
        { status: 400, errors: [place], absent: ['12345678901234567', '4242424242424242'] },
      )
  })

  test('an object that looks like one of our exact numbers stays an object (C7.1)', async () => {
    const { keys } = await vault().tenant({ owner })
    const data = '{"rawJSON":"1e400"}'
    const created = await vault().send('POST', '/tokens', {
      key: keys.owner,
      raw: `{"type":"token","data":${data}}`,
    })
    assert.equal(created.status, 201)
    assert.ok((await vault().get(`/tokens/${created.body.id}`, keys.owner)).text.includes(`"data":${data}`))
  })

  test('lone surrogates and NUL are accepted in data, masks, metadata and expressions, and nowhere else (C7.3)', async () => {
    const { keys } = await vault().tenant({ owner })
    const odd = '\\ud800x\\udc00\\u0000'
    const raw = `{"type":"token","data":{"${odd}":"${odd}"},"mask":{"m":"${odd}{{ data['a'] }}"},"metadata":{"${odd}":"${odd}"},"search_indexes":["${odd}{{ data }}"],"fingerprint_expression":"${odd}{{ data }}"}`
    const created = await vault().send('POST', '/tokens', { key: keys.owner, raw })
    assert.equal(created.status, 201, created.text)
    const text = '\ud800x\udc00\u0000'
    const { body } = await vault().get(`/tokens/${created.body.id}`, keys.owner)
    assert.deepEqual(body.data, { [text]: text })
    assert.deepEqual(body.metadata, { [text]: text })
    for (const field of ['id', 'type', 'containers', 'expires_at']) {
      const value = field === 'containers' ? `["/a${odd}/"]` : `"abc${odd}"`
      const reply = await vault().send('POST', '/tokens', {
        key: keys.owner,
        raw: `{"type":"token","data":1,"${field}":${value}}`,
      })
      assert.equal(reply.status, 400, field)
    }
  })
})
