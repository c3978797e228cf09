import { test } from 'node:test'
import './postgres-cluster.ts'

test('waits for what never comes', () => new Promise(() => {}))

test('comes after it', () => {})
