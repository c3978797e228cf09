import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { pages } from '../../src/http/docs/pages.ts'
import { startVault } from '../../src/testing.ts'
import type { RunningVault } from '../../src/testing-types.d.ts'
import { Chromium, noChromium } from '../rig/chromium.ts'

const { STRONGROOM_AXE: axeFile } = process.env

describe('the documentation in a browser', { skip: noChromium, timeout: 600_000 }, () => {
  let vault: RunningVault
  let browser: Chromium
  const addressOf = (name: string): string => `${vault.base_url}/docs${name === '' ? '' : `/${name}`}`
  before(async () => {
    vault = await startVault()
    browser = await Chromium.start()
  })
  after(async () => {
    await browser.stop()
    await vault.stop()
  })

  test('one language is shown of three, and the choice stays (C36.3)', async () => {
    const shown = `[...new Set([...document.querySelectorAll('.sample .box:not([hidden])')].map(box => box.dataset.lang))].join()`
    await browser.open(addressOf('api-tenant'))
    assert.equal(await browser.evaluate(shown), 'curl')
    await browser.evaluate(`document.querySelector('.tabs [data-lang=py]').click()`)
    await browser.open(addressOf('api-tokens'))
    assert.equal(await browser.evaluate(shown), 'py')
    await browser.evaluate(`document.querySelector('.tabs [data-lang=curl]').click()`)
  })

  test('the search finds an error by its code, and Enter leads there (C36.3)', async () => {
    await browser.open(addressOf(''))
    await browser
      .evaluate(`(async () => {
      const input = document.querySelector('#search input')
      input.focus()
      input.value = 'id_taken'
      input.dispatchEvent(new Event('input'))
      while (document.querySelector('#found [role=option]') === null) await new Promise(requestAnimationFrame)
      input.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', cancelable: true }))
      while (!location.hash) await new Promise(requestAnimationFrame)
    })()`)
      .catch(() => {
        // The page was left while it was being asked.
      })
    while (!(await browser.evaluate('document.readyState + location')).startsWith('complete'));
    assert.match(await browser.evaluate('location.href'), /\/docs\/errors#id_taken$/)
  })

  test('the sidebar marks what is being read (C36.3)', async () => {
    await browser.open(`${addressOf('errors')}#rate_limited`)
    // The page follows once it has scrolled, some frames later.
    const marked = `(async () => {
      const hash = () => document.querySelector('nav [aria-current=location]')?.hash
      for (let frame = 0; frame < 300 && hash() !== '#rate_limited'; frame++) await new Promise(requestAnimationFrame)
      return hash()
    })()`
    assert.equal(await browser.evaluate(marked), '#rate_limited')
  })

  test('the playground renders (C20, C36.3)', async () => {
    await browser.open(addressOf('playground'))
    assert.equal(await browser.evaluate(`document.querySelector('#result').textContent`), '"XXXXXXXXXXXalue"')
  })

  test('no page is wider than a phone, complains, or asks another server (C36.3)', async () => {
    for (const { name } of pages) {
      await browser.open(addressOf(name), { width: 360 })
      assert.equal(
        await browser.evaluate('String(document.documentElement.scrollWidth <= innerWidth)'),
        'true',
        name,
      )
    }
    assert.deepEqual(browser.complaints, [])
    assert.deepEqual(
      browser.requests.filter(url => !url.startsWith(vault.base_url)),
      [],
    )
  })

  test('axe finds nothing, in light and dark, wide and narrow (C36.3)', {
    skip: axeFile === undefined && 'STRONGROOM_AXE names no axe.min.js (docs/testing.md)',
  }, async () => {
    const axe = readFileSync(axeFile ?? '', 'utf8')
    for (const { name } of pages)
      for (const [scheme, width] of [
        ['light', 1_280],
        ['dark', 360],
      ] as const) {
        await browser.open(addressOf(name), { width, scheme })
        await browser.evaluate(`${axe};0`)
        const found = await browser.evaluate(
          `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes[0].html).join())`,
        )
        assert.equal(found, '', `${name} ${scheme} ${width}`)
      }
  })
})
