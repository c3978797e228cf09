import { limits } from './limits.ts'

/**
 * Places in the caller's body, as error messages name them (C2): `[2].data.number`. Field names of the interface appear
 * as they are. Names that the caller chose are cut, and replaced by their position if they look like a number that was
 * sent as a key. The root is the empty place.
 */
export const field = (place: string, name: string): string => (place === '' ? name : `${place}.${name}`)

export const element = (place: string, index: number): string => `${place}[${index}]`

/** `position` counts from 1, in the order in which the keys were sent (`keysAsSent`). */
export const chosenKey = (place: string, key: string, position: number): string => {
  const name = chosenName(key, position)
  return name.startsWith('[') ? `${place}${name}` : field(place, name)
}

export const chosenName = (name: string, position: number): string =>
  name === '' || countDigits(name) >= 8 ? `[key ${position}]` : cut(name)

const cut = (name: string): string => {
  if (name.length <= limits.errorNameCharactersMax) return name
  return [...name].slice(0, limits.errorNameCharactersMax).join('')
}

const countDigits = (text: string): number => {
  let digits = 0
  for (const character of text) if (/\p{Nd}/u.test(character)) digits++
  return digits
}
