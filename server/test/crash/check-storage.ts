import assert from 'node:assert/strict'

/** Nothing in storage belongs to a token that is not there, and nothing of a token is missing. */
export const checkStorage = async (
  count: (fromWhere: string) => Promise<number>,
): Promise<void> => {
  const sameToken = 'x.tenant = k.tenant AND x.token_id = k.token_id'
  for (const table of ['terms', 'matches', 'transients'])
    assert.equal(
      await count(`${table} x WHERE NOT EXISTS (SELECT 1 FROM tokens k WHERE ${sameToken})`),
      0,
      `${table} without a token`,
    )
  assert.equal(
    await count(`tokens k WHERE NOT EXISTS (SELECT 1 FROM terms x WHERE ${sameToken})`),
    0,
    'tokens without terms',
  )
  assert.equal(
    await count(`api_keys k WHERE NOT EXISTS (SELECT 1 FROM applications x
      WHERE x.tenant = k.tenant AND x.application_id = k.application_id)`),
    0,
    'keys without an application',
  )
}
