import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { temporaryFolder } from './temporary-folder.ts'

/** Debian's, or the one that the environment names. */
const program = [process.env.STRONGROOM_CHROMIUM ?? '', '/usr/bin/chromium'].find(path => existsSync(path))

export const noChromium =
  program === undefined && 'no Chromium is installed (/usr/bin/chromium, or STRONGROOM_CHROMIUM)'

type Message = {
  readonly id?: number
  readonly method?: string
  readonly params?: {
    readonly request?: { readonly url: string }
    readonly entry?: { readonly text: string }
    readonly exceptionDetails?: { readonly text: string }
  }
  readonly result?: unknown
  readonly error?: { readonly message: string }
}
type Evaluated = {
  readonly result: { readonly value: string }
  readonly exceptionDetails?: { readonly exception?: { readonly description?: string } }
}

/** One page of a real browser, driven over its debugging protocol. */
export class Chromium {
  readonly #process: ChildProcess
  readonly #socket: WebSocket
  readonly #folder: ReturnType<typeof temporaryFolder>
  readonly #waiting = new Map<number, (message: Message) => void>()
  #loaded = Promise.withResolvers<void>()
  #sent = 0
  /** Addresses asked for, and everything that the page complained about: errors, refusals by its policy. */
  readonly requests: string[] = []
  readonly complaints: string[] = []

  private constructor(child: ChildProcess, socket: WebSocket, folder: ReturnType<typeof temporaryFolder>) {
    this.#process = child
    this.#socket = socket
    this.#folder = folder
    socket.addEventListener('message', ({ data }) => this.#hear(JSON.parse(String(data))))
  }

  static async start(): Promise<Chromium> {
    if (program === undefined) throw new Error('no Chromium is installed')
    const folder = temporaryFolder()
    const flags = ['--headless=new', '--no-sandbox', '--disable-gpu', '--remote-debugging-port=0']
    const child = spawn(program, [...flags, `--user-data-dir=${folder.path}`, 'about:blank'], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const address = await addressOf(child)
    const targets = (await (await fetch(`http://${new URL(address).host}/json`)).json()) as {
      type: string
      webSocketDebuggerUrl: string
    }[]
    const target = targets.find(({ type }) => type === 'page')
    const socket = new WebSocket(target?.webSocketDebuggerUrl ?? '')
    await once(socket, 'open')
    const browser = new Chromium(child, socket, folder)
    for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await browser.#send(`${domain}.enable`)
    return browser
  }

  async open(url: string, { width = 1_280, scheme = 'light' } = {}): Promise<void> {
    await this.#send('Emulation.setDeviceMetricsOverride', {
      width,
      height: 800,
      deviceScaleFactor: 1,
      mobile: false,
    })
    await this.#send('Emulation.setEmulatedMedia', {
      features: [{ name: 'prefers-color-scheme', value: scheme }],
    })
    this.#loaded = Promise.withResolvers()
    const { loaderId } = await this.#send<{ loaderId?: string }>('Page.navigate', { url })
    // Another place of the same page loads nothing.
    if (loaderId !== undefined) await this.#loaded.promise
  }

  /** The value of an expression in the page, which must be a text; a promise is waited for. */
  async evaluate(expression: string): Promise<string> {
    const { result, exceptionDetails } = await this.#send<Evaluated>('Runtime.evaluate', {
      expression,
      awaitPromise: true,
      returnByValue: true,
    })
    if (exceptionDetails !== undefined) throw new Error(exceptionDetails.exception?.description ?? 'failed')
    return result.value
  }

  async screenshot(): Promise<Buffer> {
    return Buffer.from((await this.#send<{ data: string }>('Page.captureScreenshot')).data, 'base64')
  }

  async stop(): Promise<void> {
    const ended = once(this.#process, 'exit')
    this.#socket.close()
    this.#process.kill('SIGKILL')
    await ended
    this.#folder.remove()
  }

  #send<T>(method: string, params: unknown = {}): Promise<T> {
    const id = ++this.#sent
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, ({ result, error }) =>
        error ? reject(new Error(error.message)) : resolve(result as T),
      )
      this.#socket.send(JSON.stringify({ id, method, params }))
    })
  }

  #hear({ id, method, params, ...rest }: Message): void {
    if (id !== undefined) this.#waiting.get(id)?.({ ...rest })
    else if (method === 'Page.loadEventFired') this.#loaded.resolve()
    else if (method === 'Network.requestWillBeSent') this.requests.push(params?.request?.url ?? '')
    else if (method === 'Log.entryAdded') this.complaints.push(params?.entry?.text ?? '')
    else if (method === 'Runtime.exceptionThrown') this.complaints.push(params?.exceptionDetails?.text ?? '')
  }
}

const addressOf = (child: ChildProcess): Promise<string> =>
  new Promise((resolve, reject) => {
    let told = ''
    child.stderr?.on('data', piece => {
      told += piece
      const [, address] = /listening on (ws:\S+)/.exec(told) ?? []
      if (address !== undefined) resolve(address)
    })
    child.once('exit', code => reject(new Error(`Chromium ended with ${code}: ${told}`)))
  })
