/** ASCII digits only, `min` to `max` of them: other scripts have digits that no checksum knows. */
export const isDigits = (text: string, min: number, max: number): boolean =>
  text.length >= min && text.length <= max && /^[0-9]+$/.test(text)

export const digitAt = (digits: string, index: number): number => digits.charCodeAt(index) - 48
