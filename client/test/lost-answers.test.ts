import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Seeded } from '../../server/test/rig/seeded.ts'
import { loseAnswers } from './lost-answers/lose-answers.ts'

// `npm run test:client -- lost-answers` does ten thousand.
test('a program that loses answers, and is killed now and then, makes each token once (client/README.md)', {
  timeout: 120_000,
}, async () => {
  const creates = 300
  const { tokens, told, ids, requests, lost, killed } = await loseAnswers({
    creates,
    kills: 2,
    oneIn: 5,
    random: new Seeded(7),
  })
  assert.deepEqual({ tokens, told, ids, killed }, { tokens: creates, told: creates, ids: creates, killed: 2 })
  assert.ok(lost > creates / 10 && requests > creates + lost / 2, `${lost} of ${requests}`)
})
