import type { ActLog as Real } from '../server/src/operations/log/act-log.ts'

type Public = { [Member in keyof Real]: Real[Member] }

/** Stands in for the log where its cost is measured: it takes every act and keeps none. */
export class ActLog implements Public {
  // A new tenant has no number yet, and storage takes no null for its first record.
  partOf: Real['partOf'] = ({ tenantNumber }) => (tenantNumber < 0 ? undefined : null) as never
  record: Real['record'] = async (_owner, act) => {
    act.isRecorded = true
  }
  note: Real['note'] = (_owner, act) => {
    act.isRecorded = true
  }
  noteRefusal: Real['noteRefusal'] = (_owner, act) => {
    act.isRecorded = true
  }
  idOf: Real['idOf'] = () => ''
  requireOpen: Real['requireOpen'] = () => {}
  isClosed: Real['isClosed'] = () => false
  flush: Real['flush'] = async () => {}
  readonly isStuck = false
  open(): { length: number; at: () => undefined } {
    return { length: 0, at: () => undefined }
  }

  recordsIn: Real['recordsIn'] = () => []
  readonly seal = undefined as never
}
