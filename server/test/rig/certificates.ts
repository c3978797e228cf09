import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

/** A certificate with its private key, as PEM. */
export type Certificate = {
  readonly cert: string
  readonly key: string
  readonly name: string
  readonly privateKey: KeyObject
}

/**
 * A certificate for `name` and 127.0.0.1, signed by `issuer` or by itself. Node creates no certificates, and the tests
 * need nothing installed, so the few lines of X.509 are written here.
 */
export const certificate = (
  name: string,
  issuer?: Certificate,
  valid: { from: Date; until: Date } = { from: new Date('2020-01-01'), until: new Date('2120-01-01') },
): Certificate => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const algorithm = sequence(oid(ecdsaWithSha256))
  const content = sequence(
    der(0xa0, integer(Buffer.from([2]))),
    integer(Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    algorithm,
    commonName(issuer?.name ?? name),
    sequence(time(valid.from), time(valid.until)),
    commonName(name),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(
      0xa3,
      sequence(
        extension(
          basicConstraints,
          issuer === undefined ? sequence(der(0x01, Buffer.from([0xff]))) : sequence(),
        ),
        extension(
          subjectAltName,
          sequence(der(0x82, Buffer.from(name)), der(0x87, Buffer.from([127, 0, 0, 1]))),
        ),
      ),
    ),
  )
  const signature = sign('sha256', content, issuer?.privateKey ?? privateKey)
  return {
    name,
    privateKey,
    cert: pem(sequence(content, algorithm, der(0x03, Buffer.from([0]), signature))),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

const generalTime = 0x18
const ecdsaWithSha256 = [1, 2, 840, 10_045, 4, 3, 2]
const commonNameType = [2, 5, 4, 3]
const subjectAltName = [2, 5, 29, 17]
const basicConstraints = [2, 5, 29, 19]

const der = (tag: number, ...parts: readonly Uint8Array[]): Buffer => {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}
const sequence = (...parts: readonly Uint8Array[]): Buffer => der(0x30, ...parts)
const integer = (bytes: Uint8Array): Buffer => der(0x02, bytes)
const extension = (type: readonly number[], value: Uint8Array): Buffer =>
  sequence(oid(type), der(0x04, value))
const time = (date: Date): Buffer =>
  der(generalTime, Buffer.from(`${date.toISOString().replace(/\D/g, '').slice(0, 14)}Z`))
const commonName = (name: string): Buffer =>
  sequence(der(0x31, sequence(oid(commonNameType), der(0x0c, Buffer.from(name)))))

const oid = ([first = 0, second = 0, ...rest]: readonly number[]): Buffer => {
  const base128 = (part: number): number[] =>
    part < 128 ? [part] : [...base128(part >> 7).map(byte => byte | 0x80), part & 0x7f]
  return der(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]))
}

const pem = (bytes: Buffer): string =>
  `-----BEGIN CERTIFICATE-----\n${bytes.toString('base64').replace(/.{64}/g, '$&\n').trim()}\n-----END CERTIFICATE-----\n`
