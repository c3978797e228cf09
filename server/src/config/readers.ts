import { isIP } from 'node:net'
import { ceilings, contradiction, type SetLimits } from '../domain/limits.ts'
import type { Rate } from '../domain/rate-buckets.ts'
import { didYouMean } from '../domain/text/did-you-mean.ts'
import type { AllowedNetwork } from '../outbound/outbound-rules.ts'
import { ConfigError } from './config-error.ts'
import { type Given, ifGiven } from './given.ts'

export const readNumber = ({ text, source }: Given, min: number, max: number): number => {
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= min && value <= max))
    throw new ConfigError(`${source} must be a number from ${min} to ${max}`)
  return value
}

export const readWhole = (given: Given, min: number, max: number): number => {
  const value = readNumber(given, min, max)
  if (!Number.isInteger(value)) throw new ConfigError(`${given.source} must be a whole number`)
  return value
}

export const readChoice = <const V extends readonly string[]>(
  { text, source }: Given,
  choices: V,
): V[number] => {
  if (choices.includes(text)) return text
  throw new ConfigError(`${source} must be one of ${choices.join(', ')}${didYouMean(text, choices)}`)
}

/** An IPv6 address may stand in brackets, as in a URL. */
export const readHost = ({ text }: Given): string => text.replace(/^\[(.*)\]$/, '$1')

export const readHeaderPrefix = ({ text, source }: Given): string => {
  if (!/^[A-Za-z][A-Za-z0-9-]{0,31}$/.test(text))
    throw new ConfigError(`${source} must be letters, digits and dashes, at most 32, and start with a letter`)
  return text.toLowerCase()
}

const readList = (given: Given | undefined): string[] =>
  (given?.text ?? '')
    .split(',')
    .map(item => item.trim())
    .filter(item => item !== '')

export const readOrigins = (given: Given | undefined): string[] => {
  const origins = readList(given)
  for (const origin of origins)
    if (!URL.canParse(origin) || new URL(origin).origin !== origin)
      throw new ConfigError(`${given?.source} must be origins such as https://shop.example`)
  return origins
}

export const readNetworks = (given: Given | undefined): string[] => {
  const networks = readList(given)
  for (const network of networks)
    if (!isNetwork(network))
      throw new ConfigError(
        `${given?.source} must be addresses or networks, such as 192.0.2.7,198.51.100.0/24`,
      )
  return networks
}

const isNetwork = (text: string): boolean => {
  const [, address = '', prefix = '0'] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  return Number(prefix) <= ({ 4: 32, 6: 128 }[isIP(address)] ?? -1)
}

/** Networks with or without a port; an IPv6 network with a port stands in brackets. */
export const readAllowed = (given: Given | undefined): AllowedNetwork[] =>
  readList(given).map(text => {
    const [, bracketed, plain, port] = /^(?:\[([^\]]*)\]|([^:]*|.*:.*:.*?))(?::(\d{1,5}))?$/.exec(text) ?? []
    const network = bracketed ?? plain ?? ''
    // Of an IPv6 network without brackets, what follows the last colon is part of the address.
    if (bracketed === undefined && isNetwork(text)) return { network: text, port: undefined }
    if (!isNetwork(network) || (bracketed === undefined && network.includes(':')) || !isPort(port ?? '1'))
      throw new ConfigError(
        `${given?.source} must be networks, such as 10.1.0.0/16, 10.2.0.7:8443 or [fd00::/8]:8443`,
      )
    return { network, port: port === undefined ? undefined : Number(port) }
  })

export const readPorts = (given: Given | undefined): number[] =>
  readList(given).map(text => {
    if (!isPort(text)) throw new ConfigError(`${given?.source} must be ports from 1 to 65535, such as 8443`)
    return Number(text)
  })

const isPort = (text: string): boolean => /^[1-9]\d{0,4}$/.test(text) && Number(text) <= 65_535

/** DNS servers, in the form that Node takes: the address alone where the port is the usual one. */
export const readServers = (given: Given | undefined): string[] =>
  readList(given).map(text => {
    const [, bracketed, plain, port] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d{1,5}))?$/.exec(text) ?? []
    const isServer = isIP(text) !== 0 || isIP(bracketed ?? '') === 6 || isIP(plain ?? '') === 4
    if (!isServer || !isPort(port ?? '1'))
      throw new ConfigError(`${given?.source} must be addresses of DNS servers, such as 192.0.2.53:53`)
    return text
  })

/** Paths of files, each written as `file:/mnt/anchor/strongroom.notes`. */
export const readAnchors = (given: Given | undefined): string[] =>
  readList(given).map(anchor => {
    const [, path] = /^file:(?:\/\/)?(\/.+)$/.exec(anchor) ?? []
    if (path === undefined)
      throw new ConfigError(`${given?.source} must be files, each as file:/absolute/path`)
    return path
  })

export const readRateLimit = (rate: Given | undefined, burst: Given | undefined): Rate | undefined => {
  const perSecond = ifGiven(rate, given => readNumber(given, 0.001, 1_000_000))
  const atOnce = ifGiven(burst, given => readNumber(given, 1, 1_000_000))
  if (perSecond !== undefined) return { perSecond, burst: atOnce ?? Math.max(1, perSecond) }
  if (burst !== undefined) throw new ConfigError(`${burst.source} needs a rate limit as well`)
  return undefined
}

export const readLimits = (given: Given | undefined): SetLimits => {
  // `"limits": {}` in the config file
  if (given === undefined || given.text === '') return {}
  const { text, source } = given
  const wanted: Record<string, number> = {}
  for (const pair of text.split(',')) {
    const [, name = '', value = ''] = /^\s*(\w+)\s*=\s*(\S*)\s*$/.exec(pair) ?? []
    const most = Object.hasOwn(ceilings, name) ? ceilings[name as keyof typeof ceilings] : undefined
    if (most === undefined)
      throw new ConfigError(`${source} can set ${Object.keys(ceilings).join(', ')}, each as name=number`)
    if (!/^[1-9]\d*$/.test(value) || Number(value) > most)
      throw new ConfigError(`${source} must set ${name} to a whole number from 1 to ${most}`)
    wanted[name] = Number(value)
  }
  const fault = contradiction(wanted)
  if (fault !== undefined) throw new ConfigError(`${source} contradicts itself: ${fault}`)
  return wanted
}
