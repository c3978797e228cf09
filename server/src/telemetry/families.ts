import type { Family } from './meters.ts'

/**
 * Every family of metrics, declared once; docs/watching.md is held complete against this page. Each group is counted in one place: a
 * part of the service that knows its labels. Labels have closed lists of values, and never one that a caller or a tenant could choose.
 */

const counter = (name: string, help: string, more: Partial<Family> = {}): Family => ({
  name: `strongroom_${name}`,
  type: 'counter',
  help,
  combine: 'sum',
  scale: 1,
  bounds: [],
  by: [],
  ...more,
})
const gauge = (name: string, help: string, more: Partial<Family> = {}): Family => ({
  ...counter(name, help),
  type: 'gauge',
  ...more,
})
const histogram = (name: string, help: string, more: Partial<Family>): Family => ({
  ...counter(name, help),
  type: 'histogram',
  ...more,
})

const seconds = { scale: 1e6 }
/** A moment, kept in milliseconds as the service's clock tells it. */
const instant = { scale: 1e3 }
const bounds = (...list: number[]): Pick<Family, 'bounds'> => ({ bounds: list })

/** Eight of them: there are as many series as buckets times endpoints. */
const answerBounds = bounds(0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5)
const waitBounds = bounds(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1)
const diskBounds = bounds(0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.5)
const setBounds = bounds(1, 2, 4, 8, 16, 32, 64, 128, 256, 512)

/** Counted where requests are answered (http/). */
export const requestFamilies = {
  answered: counter('http_requests_total', 'Requests answered.', { by: ['answer'] }),
  seconds: counter('http_request_seconds_total', 'Time from the arrival of requests to their answers.', {
    by: ['answer'],
    ...seconds,
  }),
  duration: histogram(
    'http_request_duration_seconds',
    'Time from the arrival of a request to the end of its answer.',
    { by: ['endpoint'], ...seconds, ...answerBounds },
  ),
  abandoned: counter('http_requests_abandoned_total', 'Requests whose client left before it was answered.'),
  shed: counter(
    'http_requests_shed_total',
    'Requests refused because of overload (503), for whatever reason.',
  ),
  rateLimited: counter(
    'http_requests_rate_limited_total',
    'Requests refused because their key is over its rate (429).',
  ),
  malformed: counter('http_malformed_total', 'Connections ended because what they sent is not HTTP.'),
  connections: gauge('http_connections', 'Open connections.'),
  accepted: counter('http_connections_accepted_total', 'Connections accepted.'),
  heldBytes: gauge(
    'http_held_bytes',
    'Memory held by bodies that arrive and by answers that nobody has read yet.',
  ),
} as const satisfies Record<string, Family>

/** Counted by the scheduler (scheduling/). */
export const turnFamilies = {
  wait: histogram('scheduler_wait_seconds', 'How long work waits for a turn on the processor.', {
    ...seconds,
    ...waitBounds,
  }),
  waiting: gauge('scheduler_waiting', 'Work that waits for a turn on the processor.'),
  refused: counter(
    'scheduler_refused_total',
    'Requests refused because they waited too long for their first turn.',
  ),
} as const satisfies Record<string, Family>

/** Counted by the queue of write sets (store/). */
export const commitFamilies = {
  sets: histogram('commit_batch_sets', 'Write sets that a process sends to storage together.', setBounds),
  duration: histogram(
    'commit_duration_seconds',
    'Time from sending a batch to storage until it is durable.',
    {
      ...seconds,
      ...diskBounds,
    },
  ),
  wait: histogram('commit_wait_seconds', 'How long a write set waits until its batch is sent.', {
    ...seconds,
    ...waitBounds,
  }),
  waiting: gauge('commit_waiting_sets', 'Write sets that wait to be sent.'),
  conflicts: counter(
    'commit_conflicts_total',
    'Write sets dropped because a condition did not hold; most are tried again.',
  ),
  failed: counter('commit_failures_total', 'Write sets that storage could not take.'),
  refused: counter('commit_refused_total', 'Write sets refused because too many of their tenant wait.'),
} as const satisfies Record<string, Family>

/** Counted by the thread that writes the embedded store (store/sqlite/). All zero on PostgreSQL. */
export const writerFamilies = {
  sets: histogram(
    'sqlite_transaction_sets',
    'Write sets in a transaction, those of all workers together.',
    setBounds,
  ),
  duration: histogram('sqlite_transaction_seconds', 'Time that a transaction takes, with its fsync.', {
    ...seconds,
    ...diskBounds,
  }),
  sync: histogram('sqlite_sync_seconds', 'Time that COMMIT takes: writing to the log and fsync.', {
    ...seconds,
    ...diskBounds,
  }),
  checkpoint: histogram(
    'sqlite_checkpoint_seconds',
    "Time that moving pages from SQLite's log to its file takes.",
    {
      ...seconds,
      ...diskBounds,
    },
  ),
} as const satisfies Record<string, Family>

/** Counted where jobs run (jobs/). A job for one node is counted on the node that runs it. */
export const jobFamilies = {
  runs: counter('job_runs_total', 'Runs of a job, failed ones too.', { by: ['job'] }),
  failures: counter('job_failures_total', 'Runs of a job that failed.', { by: ['job'] }),
  seconds: counter('job_seconds_total', 'Time that a job has run.', { by: ['job'], ...seconds }),
  lastSuccess: gauge('job_last_success_timestamp_seconds', 'When a job last succeeded.', {
    by: ['job'],
    combine: 'latest',
    ...instant,
  }),
} as const satisfies Record<string, Family>

/** Read where the vault's state is known (jobs/take-stock.ts, service.ts). */
export const vaultFamilies = {
  logWaiting: gauge('log_waiting_records', 'Records of acts that are not durable yet.'),
  logWaitingBytes: gauge('log_waiting_bytes', 'Memory held by them.'),
  logOldest: gauge('log_oldest_waiting_seconds', 'How long the oldest of them has waited.', {
    combine: 'max',
    ...seconds,
  }),
  checkpointAt: gauge(
    'log_checkpoint_timestamp_seconds',
    'When the newest checkpoint over the log was signed.',
    {
      combine: 'latest',
      ...instant,
    },
  ),
  unproven: gauge('log_unproven_seconds', 'How long the log has had records that no checkpoint covers.', {
    combine: 'max',
    ...seconds,
  }),
  anchorFailing: gauge('log_anchor_failing', '1 if checkpoints do not reach an anchor, otherwise 0.', {
    combine: 'max',
  }),
  keyUntil: gauge('api_key_next_expiry_timestamp_seconds', 'When the next API key expires.', {
    combine: 'min',
    ...instant,
  }),
  keysExpiring: gauge('api_keys_expiring', 'API keys that expire within two weeks.', { combine: 'max' }),
} as const satisfies Record<string, Family>

/** Counted where traces are sent to a collector (cli/watching/), also if none are. */
export const traceFamilies = {
  spans: counter('trace_spans_sent_total', 'Spans that a collector has taken.'),
  dropped: counter(
    'traces_dropped_total',
    'Traces of requests that were dropped because the collector does not take them.',
  ),
  failures: counter('trace_send_failures_total', 'Attempts to send spans that failed.'),
} as const satisfies Record<string, Family>

/** Counted by every process of a server. */
export const processFamilies = {
  build: gauge('build_info', '1, with the release and its Node in the labels.', {
    combine: 'max',
    by: ['build'],
  }),
  startedAt: gauge('start_timestamp_seconds', 'When the server started.', { combine: 'min', ...instant }),
  certificateUntil: gauge(
    'tls_certificate_expiry_timestamp_seconds',
    'When the certificate that is served expires.',
    {
      combine: 'min',
      ...instant,
    },
  ),
  processes: gauge('processes', 'Processes of the server, without threads.'),
  replaced: counter('workers_replaced_total', 'Worker processes that died and were replaced.'),
  silent: gauge(
    'workers_silent',
    'Workers that did not say in time what they counted; their last numbers are shown.',
  ),
  cpu: counter('process_cpu_seconds_total', 'Processor time used by the processes.', seconds),
  memory: gauge('process_resident_memory_bytes', 'Memory used by the processes.'),
} as const satisfies Record<string, Family>

export const allFamilies: readonly Family[] = [
  requestFamilies,
  turnFamilies,
  commitFamilies,
  writerFamilies,
  jobFamilies,
  vaultFamilies,
  traceFamilies,
  processFamilies,
].flatMap(group => Object.values<Family>(group))
