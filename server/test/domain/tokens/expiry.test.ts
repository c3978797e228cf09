import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatExpiry, parseDateTime } from '../../../src/domain/time/date-time.ts'
import { processorMs } from '../../rig/processor-time.ts'
import { fc } from '../../rig/properties.ts'

const accepted: { rule: string; text: string; answer: string }[] = [
  {
    rule: 'a DateTime with an offset (§2.3)',
    text: '8/26/2030 7:23:57 PM -07:00',
    answer: '2030-08-26T19:23:57.000-07:00',
  },
  {
    rule: 'two digits in each part (§2.3)',
    text: '08/06/2030 07:03:07 AM +05:30',
    answer: '2030-08-06T07:03:07.000+05:30',
  },
  {
    rule: 'no offset means UTC (§2.3)',
    text: '8/26/2030 7:23:57 PM',
    answer: '2030-08-26T19:23:57.000+00:00',
  },
  { rule: 'a ShortDate means 12 AM UTC (§2.3)', text: '8/26/2030', answer: '2030-08-26T00:00:00.000+00:00' },
  {
    rule: '12 AM is midnight (§2.3)',
    text: '1/1/2030 12:00:00 AM +00:00',
    answer: '2030-01-01T00:00:00.000+00:00',
  },
  { rule: '12 PM is noon (§2.3)', text: '1/1/2030 12:59:59 PM', answer: '2030-01-01T12:59:59.000+00:00' },
  { rule: 'lower-case am (§2.3)', text: '1/1/2030 1:00:00 am', answer: '2030-01-01T01:00:00.000+00:00' },
  { rule: 'lower-case pm (§2.3)', text: '1/1/2030 11:00:00 pm', answer: '2030-01-01T23:00:00.000+00:00' },
  { rule: 'mixed-case Pm (§2.3)', text: '1/1/2030 11:00:00 Pm', answer: '2030-01-01T23:00:00.000+00:00' },
  { rule: 'a leap day (§2.3)', text: '2/29/2028', answer: '2028-02-29T00:00:00.000+00:00' },
  { rule: 'an ISO date (C17)', text: '2030-08-26', answer: '2030-08-26T00:00:00.000+00:00' },
  { rule: 'ISO with Z (C17)', text: '2030-08-26T19:23:57Z', answer: '2030-08-26T19:23:57.000+00:00' },
  {
    rule: 'ISO with an offset in hours (C17)',
    text: '2030-08-26T19:23:57+02',
    answer: '2030-08-26T19:23:57.000+02:00',
  },
  {
    rule: 'ISO with an offset without a colon (C17)',
    text: '2030-08-26T19:23:57-0730',
    answer: '2030-08-26T19:23:57.000-07:30',
  },
  {
    rule: 'ISO with an offset (C17)',
    text: '2030-08-26T19:23:57-07:00',
    answer: '2030-08-26T19:23:57.000-07:00',
  },
  {
    rule: 'ISO without an offset means UTC (C17)',
    text: '2030-08-26T19:23:57',
    answer: '2030-08-26T19:23:57.000+00:00',
  },
  {
    rule: 'ISO without seconds (C17)',
    text: '2030-08-26T19:23+02:00',
    answer: '2030-08-26T19:23:00.000+02:00',
  },
  {
    rule: 'ISO with a fraction (C17)',
    text: '2030-08-26T19:23:57.5Z',
    answer: '2030-08-26T19:23:57.500+00:00',
  },
  {
    rule: 'a fraction finer than milliseconds is truncated (C17)',
    text: '2030-08-26T19:23:57.999999999Z',
    answer: '2030-08-26T19:23:57.999+00:00',
  },
  {
    rule: 'an offset of minus zero (C17)',
    text: '2030-08-26T00:00:00-00:00',
    answer: '2030-08-26T00:00:00.000+00:00',
  },
  {
    rule: 'the widest offsets (C17)',
    text: '2030-08-26T00:00:00+14:00',
    answer: '2030-08-26T00:00:00.000+14:00',
  },
  {
    rule: 'the widest offsets (C17)',
    text: '2030-08-26T00:00:00-14:00',
    answer: '2030-08-26T00:00:00.000-14:00',
  },
  { rule: 'the first year (C17)', text: '1/1/0001', answer: '0001-01-01T00:00:00.000+00:00' },
  {
    rule: 'the first year at the easternmost offset (C17)',
    text: '0001-01-01T00:00:00+14:00',
    answer: '0001-01-01T00:00:00.000+14:00',
  },
  { rule: 'the first century (C17)', text: '1/1/0099', answer: '0099-01-01T00:00:00.000+00:00' },
  {
    rule: 'the last year (C17)',
    text: '9999-12-31T23:59:59.999-14:00',
    answer: '9999-12-31T23:59:59.999-14:00',
  },
]

for (const { rule, text, answer } of accepted)
  test(`${rule}: ${text}`, () => {
    const expiry = parseDateTime(text)
    assert.ok(expiry !== undefined)
    assert.equal(formatExpiry(expiry), answer)
    assert.ok(!Object.is(expiry.offsetMinutes, -0))
    // The engine's own parsing of the strict form serves as an oracle for the instant.
    assert.equal(new Date(expiry.at).getTime(), Date.parse(answer))
  })

const refused: { rule: string; texts: string[] }[] = [
  {
    rule: 'a day that does not exist',
    texts: ['2/30/2030', '2/29/2030', '2/29/2100', '4/31/2030', '1/0/2030', '1/32/2030', '2030-02-30'],
  },
  { rule: 'a month that does not exist', texts: ['13/1/2030', '0/1/2030', '2030-13-01', '2030-00-01'] },
  {
    rule: 'the year 0, and years of fewer or more digits',
    texts: ['1/1/0000', '0000-01-01', '1/1/30', '1/1/20300', '+002030-01-01'],
  },
  {
    rule: 'an hour that no clock shows',
    texts: [
      '1/1/2030 13:00:00 PM',
      '1/1/2030 00:00:00 AM',
      '1/1/2030 0:00:00 PM',
      '2030-01-01T24:00:00Z',
      '2030-01-01T25:00:00Z',
    ],
  },
  {
    rule: 'minutes and seconds beyond 59',
    texts: ['1/1/2030 1:60:00 AM', '1/1/2030 1:00:60 AM', '2030-01-01T00:60:00Z', '2030-01-01T23:59:60Z'],
  },
  {
    rule: 'an offset beyond ±14:00',
    texts: [
      '1/1/2030 1:00:00 AM +14:01',
      '1/1/2030 1:00:00 AM -15:00',
      '2030-01-01T00:00:00+23:59',
      '2030-01-01T00:00:00+00:60',
      '2030-01-01T00:00:00+0060',
      '2030-01-01T00:00:00+15',
    ],
  },
  {
    rule: 'an incomplete or malformed time',
    texts: [
      '1/1/2030 1:00 AM',
      '1/1/2030 1:00:00',
      '1/1/2030 AM',
      '1/1/2030 1:00:00 AM+00:00',
      '1/1/2030 1:00:00 AM +0000',
      '1/1/2030 1:00:00 AM Z',
      '1/1/2030 1:00:00.5 AM',
      '2030-01-01T00',
      '2030-01-01T00:00:00.',
      '2030-01-01T00:00:00.0123456789Z',
      '2030-01-01T',
      '2030-01',
      '2030',
    ],
  },
  {
    rule: 'other spellings',
    texts: [
      '2030-01-01 00:00:00Z',
      '2030-01-01t00:00:00z',
      '20300101',
      '2030-1-1',
      '2030/01/01',
      '1-1-2030',
      '1.1.2030',
      '2030-W01-1',
      'Jan 1 2030',
      'Tue, 01 Jan 2030 00:00:00 GMT',
      '1893456000',
      'tomorrow',
      'P1D',
      '2030-01-01T00:00:00[UTC]',
    ],
  },
  {
    rule: 'no text, or stray white space',
    texts: [
      '',
      ' ',
      ' 1/1/2030',
      '1/1/2030 ',
      '1/1/2030\n',
      '\t2030-01-01',
      '1/1/2030  1:00:00 AM',
      '1/1/2030 1:00:00 AM ',
    ],
  },
  { rule: 'digits of other scripts', texts: ['١/١/٢٠٣٠', '2030-01-0１'] },
]

for (const { rule, texts } of refused)
  test(`refused: ${rule} (C17)`, () => {
    for (const text of texts) assert.equal(parseDateTime(text), undefined, text)
  })

test('a long text is refused quickly (C17)', () => {
  const tookMs = processorMs(() => {
    for (const piece of ['1', '1/', ' ', '2030-01-01T00:00:00.', '+'])
      assert.equal(parseDateTime(piece.repeat(300_000)), undefined)
  })
  assert.ok(tookMs < 500, `${tookMs} ms`)
})

const offsets = fc.integer({ min: -14 * 60, max: 14 * 60 })
const instants = fc.date({
  min: new Date('0001-01-02T00:00:00Z'),
  max: new Date('9999-12-30T00:00:00Z'),
  noInvalidDate: true,
})

test('a date in the form that answers use is accepted and means the same (C17)', () => {
  fc.assert(
    fc.property(instants, offsets, (date, offsetMinutes) => {
      const expiry = { at: date.getTime(), offsetMinutes: offsetMinutes + 0 }
      assert.deepEqual(parseDateTime(formatExpiry(expiry)), expiry)
    }),
  )
})

test('the twelve-hour form means the same as the ISO form (§2.3)', () => {
  fc.assert(
    fc.property(instants, offsets, (date, offsetMinutes) => {
      const iso = formatExpiry({
        at: Math.floor(date.getTime() / 1_000) * 1_000,
        offsetMinutes: offsetMinutes + 0,
      })
      const [, year, month, day, hour, rest, offset] =
        /^(\d{4})-(\d\d)-(\d\d)T(\d\d)(:\d\d:\d\d)\.000(.*)$/.exec(iso)!
      const half = Number(hour) < 12 ? 'AM' : 'PM'
      const twelve = `${Number(month)}/${Number(day)}/${year} ${Number(hour) % 12 || 12}${rest} ${half} ${offset}`
      assert.deepEqual(parseDateTime(twelve), parseDateTime(iso))
      assert.ok(parseDateTime(twelve) !== undefined)
    }),
  )
})
