/** One spelling for all paths that name the same thing: with a host, a trailing slash, a fragment, or letters written as `%74`. */
export const pathOf = (url: string): string => {
  const path = (url.split(/[?#]/, 1)[0] ?? '').replace(/^https?:\/\/[^/]*/i, '').replace(/\/$/, '')
  if (!path.includes('%')) return path
  try {
    const parts = path.split('/').map(part => decodeURIComponent(part).replaceAll('/', '%2F'))
    return parts.join('/')
  } catch {
    return path
  }
}
