import { test } from 'node:test'
import './postgres-cluster.ts'

test('C1.1 waits for what never comes', () => new Promise(() => {}))
