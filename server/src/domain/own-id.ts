/** The form of the ids that the vault makes itself (C16): UUIDv7. */
const ownForm = /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/

export const hasOwnForm = (id: string): boolean => ownForm.test(id)
