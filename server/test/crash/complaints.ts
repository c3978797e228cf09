/** What a process complained about: errors in its log, and any line that is not a log entry. */
export const complaintsOf = (stderr: string): string[] =>
  stderr.split('\n').filter(line => line !== '' && (!line.startsWith('{') || /"level":[56]0/.test(line)))
