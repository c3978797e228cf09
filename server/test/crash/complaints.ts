/** What a process complained about: errors of its log, and whatever is no log at all. */
export const complaintsOf = (stderr: string): string[] =>
  stderr.split('\n').filter(line => line !== '' && (!line.startsWith('{') || /"level":[56]0/.test(line)))
