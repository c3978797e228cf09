// What every page of the documentation does beyond what HTML does by itself. Without it, all is there to read.

const make = <Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  given: Readonly<Record<string, string>> = {},
  text = '',
): HTMLElementTagNameMap[Name] => {
  const element = document.createElement(name)
  for (const [key, value] of Object.entries(given)) element.setAttribute(key, value)
  element.textContent = text
  return element
}

/** Each block of code gets a button that copies it. */
const addCopyButtons = (): void => {
  for (const block of document.querySelectorAll('pre[data-lang]')) {
    const box = make('div', { class: 'box', 'data-lang': block.getAttribute('data-lang') ?? '' })
    const button = make('button', { class: 'copy' }, 'Copy')
    button.addEventListener('click', async () => {
      try {
        await navigator.clipboard.writeText(block.textContent ?? '')
        button.textContent = 'Copied'
      } catch {
        // Without TLS a browser gives no clipboard: the text is selected instead.
        getSelection()?.selectAllChildren(block)
        button.textContent = 'Selected'
      }
      setTimeout(() => {
        button.textContent = 'Copy'
      }, 1500)
    })
    block.replaceWith(box)
    box.append(block, button)
  }
}

const languages: Readonly<Record<string, string>> = { curl: 'curl', ts: 'TypeScript', py: 'Python' }

const stored = (): string => {
  try {
    return localStorage.getItem('language') ?? 'curl'
  } catch {
    return 'curl'
  }
}

/** Where there is the same in several languages, one is shown; the choice counts for all pages. */
const addLanguageChoice = (): void => {
  const choose = (wanted: string): void => {
    for (const sample of document.querySelectorAll('.sample')) {
      const boxes = [...sample.querySelectorAll<HTMLElement>('.box')]
      const shown = boxes.find(box => box.dataset.lang === wanted) ?? boxes[0]
      for (const box of boxes) box.hidden = box !== shown
      for (const button of sample.querySelectorAll<HTMLElement>('.tabs button'))
        button.setAttribute('aria-pressed', String(button.dataset.lang === shown?.dataset.lang))
    }
    try {
      localStorage.setItem('language', wanted)
    } catch {
      // Then it counts for this page.
    }
  }
  for (const sample of document.querySelectorAll('.sample')) {
    const tabs = make('div', { class: 'tabs', role: 'group', 'aria-label': 'Language' })
    for (const { dataset } of sample.querySelectorAll<HTMLElement>('.box')) {
      const { lang = '' } = dataset
      const button = make('button', { 'data-lang': lang }, languages[lang])
      button.addEventListener('click', () => {
        const before = button.getBoundingClientRect().top
        choose(lang)
        // What is above may have changed its height; the reader stays where they are.
        scrollBy(0, button.getBoundingClientRect().top - before)
      })
      tabs.append(button)
    }
    sample.prepend(tabs)
  }
  choose(stored())
}

/** Which part of the page is being read, in the sidebar. */
const followReading = (): void => {
  const links = new Map<string, HTMLAnchorElement>()
  for (const link of document.querySelectorAll<HTMLAnchorElement>('nav a[href^="#"]'))
    links.set(link.hash.slice(1), link)
  const parts = [...links.keys()].flatMap(id => document.getElementById(id) ?? [])
  let marked: HTMLAnchorElement | undefined
  const mark = (): void => {
    const read = parts.findLast(part => part.getBoundingClientRect().top < innerHeight / 4) ?? parts[0]
    const link = read && links.get(read.id)
    if (link === undefined || link === marked) return
    marked?.removeAttribute('aria-current')
    link.setAttribute('aria-current', 'location')
    const { parentElement: nav } = link.closest('nav > ul') ?? {}
    // Only the sidebar scrolls, never the page under the reader.
    if (nav && nav.scrollHeight > nav.clientHeight) {
      const offset = link.getBoundingClientRect().top - nav.getBoundingClientRect().top
      if (offset < 60 || offset > nav.clientHeight - 60) nav.scrollTop += offset - nav.clientHeight / 2
    }
    marked = link
  }
  let isAsked = false
  addEventListener(
    'scroll',
    () => {
      if (isAsked) return
      isAsked = true
      requestAnimationFrame(() => {
        isAsked = false
        mark()
      })
    },
    { passive: true },
  )
  mark()
}

const addMenu = (): void => {
  const button = document.querySelector<HTMLElement>('#menu')
  const pages = document.querySelector('#pages')
  if (button === null || pages === null) return
  document.documentElement.classList.add('live')
  button.hidden = false
  const open = (isOpen: boolean): void => {
    button.setAttribute('aria-expanded', String(isOpen))
    pages.classList.toggle('open', isOpen)
  }
  button.addEventListener('click', () => open(button.getAttribute('aria-expanded') !== 'true'))
  pages.addEventListener('click', event => {
    if (event.target instanceof HTMLAnchorElement) open(false)
  })
}

type Entry = readonly [href: string, title: string, page: string, words: string]

/** Every word must be there; those of the title count most, and whole words more than beginnings. */
const search = (entries: readonly Entry[], query: string): Entry[] => {
  const words = query.toLowerCase().match(/[\p{L}\p{N}_/]+/gu) ?? []
  const score = ([, title, , text]: Entry): number => {
    let sum = 0
    const heading = title.toLowerCase()
    for (const word of words) {
      const inText = ` ${text} `
      if (heading === word) sum += 20
      else if (heading.includes(word)) sum += 8
      else if (inText.includes(` ${word} `)) sum += 3
      else if (inText.includes(` ${word}`)) sum += 2
      else return 0
    }
    return sum
  }
  return entries
    .map(entry => ({ entry, points: score(entry) }))
    .filter(({ points }) => points > 0)
    .sort((a, b) => b.points - a.points)
    .slice(0, 12)
    .map(({ entry }) => entry)
}

const addSearch = (): void => {
  const box = document.querySelector<HTMLElement>('#search')
  const input = box?.querySelector('input')
  const list = document.querySelector<HTMLElement>('#found')
  if (!box || !input || !list) return
  box.hidden = false
  let index: Promise<Entry[]> | undefined
  let at = 0
  const load = (): Promise<Entry[]> => {
    index ??= fetch(box.dataset.index ?? '').then(reply => reply.json())
    return index
  }
  const close = (): void => {
    list.hidden = true
    input.setAttribute('aria-expanded', 'false')
    input.removeAttribute('aria-activedescendant')
  }
  const select = (wanted: number): void => {
    const options = [...list.children]
    if (options.length === 0) return
    at = (wanted + options.length) % options.length
    for (const [place, option] of options.entries())
      option.setAttribute('aria-selected', String(place === at))
    input.setAttribute('aria-activedescendant', `found-${at}`)
    options[at]?.scrollIntoView({ block: 'nearest' })
  }
  const show = async (): Promise<void> => {
    const query = input.value.trim()
    if (query === '') return close()
    const found = search(await load(), query)
    list.replaceChildren(
      ...found.map(([href, title, page], place) => {
        const option = make('li', { role: 'option', id: `found-${place}`, 'data-href': href }, title)
        option.append(make('small', {}, page))
        return option
      }),
    )
    if (found.length === 0)
      list.append(make('li', { role: 'option', 'aria-disabled': 'true' }, 'Nothing found'))
    list.hidden = false
    input.setAttribute('aria-expanded', 'true')
    select(0)
  }
  const go = (option: Element | null | undefined): void => {
    if (!(option instanceof HTMLElement) || option.dataset.href === undefined) return
    close()
    input.blur()
    location.assign(option.dataset.href)
  }
  input.addEventListener('focus', () => void load().catch(() => {}))
  input.addEventListener('input', () => void show())
  input.addEventListener('blur', close)
  input.addEventListener('keydown', event => {
    if (event.key === 'ArrowDown') select(at + 1)
    else if (event.key === 'ArrowUp') select(at - 1)
    else if (event.key === 'Enter') go(list.children[at])
    else if (event.key === 'Escape') input.blur()
    else return
    event.preventDefault()
  })
  // Before the field loses the focus, and the list goes.
  list.addEventListener('mousedown', event => {
    event.preventDefault()
    if (event.target instanceof Element) go(event.target.closest('li'))
  })
  addEventListener('keydown', event => {
    const isTyping = event.target instanceof HTMLElement && event.target.matches('input, textarea, select')
    if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    input.focus()
  })
}

/** Colours without a change of the page: the browser paints ranges of its text. */
const addColours = (): void => {
  if (!('highlights' in CSS)) return
  const kinds = { text: new Highlight(), comment: new Highlight(), word: new Highlight() }
  const pattern =
    /(?<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\])*')|(?<comment>(?<=^|\s)(?:#|\/\/) .*)|(?<word>\b(?:curl|await|const|import|from|new|for|of|true|false|null|True|False|None|npx|npm|docker)\b)/gm
  for (const block of document.querySelectorAll('pre[data-lang]:not([data-lang=text])')) {
    const { firstChild: node } = block
    if (node === null) continue
    for (const { index, groups = {}, 0: whole } of (node.textContent ?? '').matchAll(pattern)) {
      const range = new StaticRange({
        startContainer: node,
        startOffset: index,
        endContainer: node,
        endOffset: index + whole.length,
      })
      const kind = groups.text === undefined ? (groups.comment === undefined ? 'word' : 'comment') : 'text'
      kinds[kind].add(range)
    }
  }
  for (const [kind, highlight] of Object.entries(kinds)) CSS.highlights.set(kind, highlight)
}

addMenu()
addSearch()
addColours()
addCopyButtons()
addLanguageChoice()
followReading()
