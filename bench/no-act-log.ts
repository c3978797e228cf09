import type { ActLog as Real } from '../server/src/operations/log/act-log.ts'
import type { LogPart } from '../server/src/store/write-set.ts'

const firstRecord: LogPart = {
  records: 1,
  bytes: 1,
  sealWith: () => ({ firstAt: 0, lastAt: 0, sealed: new Uint8Array(1) }),
}

type Public = { [Member in keyof Real]: Real[Member] }

/** Stands in for the log where its cost is measured: it takes every act and keeps none. */
export class ActLog implements Public {
  // A new tenant has no number yet, and storage wants its first record.
  partOf: Real['partOf'] = ({ tenantNumber }) => (tenantNumber < 0 ? firstRecord : null) as LogPart
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
  readonly waiting = { records: 0, bytes: 0, oldestAt: undefined }
  open(): { length: number; at: () => undefined } {
    return { length: 0, at: () => undefined }
  }

  recordsIn: Real['recordsIn'] = () => []
  readonly seal = undefined as never
}
