export type Finding = {
  readonly check: string
  readonly problem: string
  /** Later checks cannot say anything while this one stands. */
  readonly blocks: boolean
} & Remedy

/** What to run next, as it can be pasted, or what to do where no command would do it. */
export type Remedy = { readonly command: string } | { readonly byHand: string }
