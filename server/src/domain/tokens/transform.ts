/** How much of a token's data a caller sees, from most to least. */
export type Transform = 'reveal' | 'mask' | 'redact'
