import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { endpoints } from '../../src/contract/endpoints.ts'
import { VaultError } from '../../src/domain/errors.ts'
import { answering } from '../../src/http/answer.ts'
import type { Exchange } from '../../src/http/exchange.ts'
import type { PipelineOptions } from '../../src/http/pipeline-options.ts'

describe('the room that a request takes', () => {
  /** What was taken and given back, and what went wrong, when one of the steps refuses the request. */
  const takenBy = async (endpoint: 'createToken' | 'listTokens', refuses: 'body' | 'page') => {
    const calls: string[] = []
    const options = {
      headerPrefix: 'svc',
      shedding: {
        requireShortQueue: () => {},
        enter: () => void calls.push('enter'),
        leave: () => void calls.push('leave'),
      },
      loopTurns: { ahead: () => 0, next: async () => {} },
      pageRoom: {
        enter: async () => {
          if (refuses === 'page') throw new VaultError('overloaded')
        },
        leave: () => void calls.push('leave the page room'),
      },
    } as unknown as PipelineOptions
    const exchange = {
      caller: undefined,
      body: async () => {
        if (refuses === 'body') throw new VaultError('bodyTooLarge')
        return Buffer.alloc(0)
      },
    } as unknown as Exchange
    const note = (_exchange: Exchange, error: unknown): void =>
      void calls.push(error instanceof VaultError ? error.code : String(error))
    await answering(options, endpoints[endpoint], async () => undefined, note)(exchange)
    return calls
  }

  test('C2.23 is not given back by one that was refused before it took any', async () => {
    assert.deepEqual(await takenBy('createToken', 'body'), ['bodyTooLarge'])
  })

  test('C2.23 among pages is not given back by one that was not let in', async () => {
    assert.deepEqual(await takenBy('listTokens', 'page'), ['enter', 'overloaded', 'leave'])
  })
})
