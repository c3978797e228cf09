import { becomeLaterRelease } from './later-migration.ts'

/** Loaded before a program, in each of its threads and workers (`laterRelease`). */
becomeLaterRelease()
