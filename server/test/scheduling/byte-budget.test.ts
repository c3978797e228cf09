import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ByteBudget } from '../../src/scheduling/byte-budget.ts'

/** Takes as much as there is, in pieces of ten. */
const fill = (budget: ByteBudget, tenant: string, key: string): number => {
  const account = budget.account(tenant, key)
  while (account.hold(account.held + 10)) {}
  return account.held
}

test('a key that takes all it can leaves room for other keys, and its tenant for other tenants (C37.6)', () => {
  const budget = new ByteBudget(1_600)
  assert.equal(fill(budget, 'loud', 'a'), 400)
  const second = fill(budget, 'loud', 'b')
  assert.ok(second >= 100 && second <= 400, `${second}`)
  assert.ok(fill(budget, 'quiet', 'a') >= 150)
  for (let n = 0; n < 20; n++) fill(budget, 'loud', `${n}`)
  assert.ok(fill(budget, 'third', 'a') >= 50)
  assert.ok(budget.held <= 1_600)
})

test('what is given back is free again, and nothing is remembered of who held it (C37.6)', () => {
  const budget = new ByteBudget(1_000)
  const account = budget.account('one', 'a')
  assert.equal(account.hold(250), true)
  assert.equal(account.hold(300), false)
  assert.equal(account.held, 250)
  account.keep(0)
  assert.equal(budget.held, 0)
  assert.equal(account.hold(250), true)
})

test('what is in memory already counts even where there is no room (C37.6)', () => {
  const budget = new ByteBudget(1_000)
  const account = budget.account('one', 'a')
  account.keep(5_000)
  assert.equal(budget.account('one', 'a').hold(1), false)
  assert.equal(budget.account('two', 'a').hold(1), false)
  account.keep(0)
  assert.equal(budget.account('two', 'a').hold(1), true)
})
