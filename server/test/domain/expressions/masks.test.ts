import { exactNumber } from '../../../src/domain/json/json.ts'
import { fails, table } from './table.ts'

const dashed = '3622-7206-2716-5567'
const exact = exactNumber('12345678901234567890')

table('vector (C22.3)', 'mask', [['reveal_last: 4', 'Sensitive Value', 'XXXXXXXXXXXalue']])
table('vector (C22.4)', 'mask', [["reveal_last: 3, '#'", '36227206271667', '###########667']])
table('vector (C22.5)', 'mask', [['reveal_last: 4', '1234', 'XXXX']])
table('vector (C22.6)', 'mask', [['reveal: 7, 4, \'#\', "-"', dashed, '3622-72##-####-5567']])
table('vector (C22.7)', 'mask', [['reveal: 10, 9', dashed, 'X'.repeat(19)]])
table('vector (C22.8)', 'mask', [['card_mask: "true","true"', '4242424242424242', '42424242XXXX4242']])
table('vector (C22.9)', 'mask', [["pad_left: 6,'0'", '1234', '001234']])
table('vector (C22.10)', 'mask', [
  ['stringify', 8.99, '8.99'],
  ['stringify', 'x', 'x'],
  ['stringify', { a: [1, null], b: 'x' }, '{"a":[1,null],"b":"x"}'],
])

table('a mask hides a value entirely if it is no longer than the part to be shown (C22.1)', 'mask', [
  ['last4', '12345', '2345'],
  ['last4', '1234', 'XXXX'],
  ['last4', '1', 'X'],
  ['last4', '', ''],
  ['last4', '😀😀😀😀', 'XXXX'],
  ['last4', 1234, 'XXXX'],
  ['reveal_last: 4', '12345', 'X2345'],
  ['reveal_last: 4', '123', 'XXX'],
  ['reveal_last: 0', '123', 'XXX'],
  ['reveal_last: 999999999', '123', 'XXX'],
  ['reveal: 2, 2', '12345', '12X45'],
  ['reveal: 2, 2', '1234', 'XXXX'],
  ["reveal: 0, 4, 'X', '-'", '-6789', '-XXXX'],
  ["reveal: 10, 9, 'X', '-'", dashed, 'XXXX-XXXX-XXXX-XXXX'],
  ['card_mask: true, true', '4242424242', 'X'.repeat(10)],
  ['card_mask: true, true', '42424242424', '424242X2424'],
  ['card_mask: true, true', '424242-4242', 'X'.repeat(11)],
  ['card_mask: false, true', '4242', 'XXXX'],
  ['card_mask: true, false', 'no digits', 'X'.repeat(9)],
  ['card_bin', '424242', 'XXXXXX'],
  ['card_bin', '4242424', '424242'],
])

table('outside masks last4 and reveal_last show even short values (C22.1)', 'index', [
  ['last4', '123', '123'],
  ['last4', '12345', '2345'],
  ['reveal_last: 4', '1234', '1234'],
  ['reveal: 10, 9', dashed, 'X'.repeat(19)],
  ['card_bin', '4242', '4242'],
])

table('reveal filters count characters (C21.1)', 'mask', [
  ["reveal: 0, 4, 'X', '-'", '123-45-6789', 'XXX-XX-6789'],
  ["reveal: 0, 4, 'X', '-'", '123456789', 'XXXXX6789'],
  ['reveal: 1, 1', 'a😀b', 'aXb'],
  ["reveal: 1, 1, '😀'", 'abc', 'a😀c'],
  ["reveal: 0, 1, 'X', ' -.'", '1.2 3-4', 'X.X X-4'],
  ['reveal: "2", "1"', 'abcdef', 'abXXXf'],
  ['reveal_last: 1', '\ud800\ud800', 'X\ud800'],
  ['reveal_last: 2', 12345, 'XXX45'],
  ['reveal_last: 4', exact, 'XXXXXXXXXXXXXXXX7890'],
  ['reveal_last: 2', -1.5, 'XX.5'],
  ['reveal_last: 4', 1e21, `${'X'.repeat(18)}0000`],
  ['last4', exact, '7890'],
  ['last4', 'ab😀\udc00cd', '😀\udc00cd'],
  ['reveal_last: 4', null, null],
  ['reveal: 6', dashed, '3622-7XXXXXXXXXXXXX'],
  ['reveal', 'abc', 'XXX'],
  ['reveal: 1, 1', null, null],
  ['last4', null, null],
  ['reveal_last: 4', true, fails('reveal_last: text or a number is needed, at character 11')],
  ['reveal: 1, 1', ['a'], fails('text or a number is needed')],
  ['last4', { a: 1 }, fails('text or a number is needed')],
])

table('the BIN has 6 digits if the number has fewer than 16, otherwise 8 (C22.2)', 'mask', [
  ['card_bin', '378282246310005', '378282'],
  ['card_bin', '4242424242424242', '42424242'],
  ['card_bin', '4242 4242-4242 4242', '42424242'],
  ['card_bin', 4242424242424242, '42424242'],
  ['card_bin', null, null],
  ['card_bin', '', ''],
  ['card_bin', [], fails('text or a number is needed')],
  ['card_mask: true, true', '378282246310005', '378282XXXXX0005'],
  ['card_mask: true, false', '4242424242424242', '42424242XXXXXXXX'],
  ['card_mask: false, false', '4242424242424242', 'X'.repeat(16)],
  ['card_mask', '4242424242424242', 'X'.repeat(16)],
  ['card_mask: true', '4242424242424242', '42424242XXXXXXXX'],
  ["card_mask: true, true, '*'", '4242424242424242', '42424242****4242'],
  ["card_mask: true, true, 'X', '-'", dashed, '3622-7206-XXXX-5567'],
  ['card_mask: true, true', dashed, '3622-7206XXXXXX5567'],
  ['card_mask: true, true', null, null],
  ['card_mask: true, true', false, fails('text or a number is needed')],
])

const card = { number: '4242424242424242', expiration_month: 3, expiration_year: 2031 }
table('card_exp formats the month and the year (C21.1)', 'mask', [
  ["card_exp: 'MM/YY'", card, '03/31'],
  ["card_exp: 'MM/YYYY'", card, '03/2031'],
  ["card_exp: 'MM/YY'", { expiration_month: 1, expiration_year: 2031 }, '01/31'],
  ["card_exp: 'MM/YY'", { expiration_month: 12, expiration_year: 2031 }, '12/31'],
  ["card_exp: 'MM/YY'", { expiration_month: 0, expiration_year: 2031 }, fails('a month and a year')],
  ["card_exp: 'YYYY-MM'", card, '2031-03'],
  ["card_exp: 'YYMM'", card, '3103'],
  ["card_exp: 'M/yy'", card, '3/31'],
  ["card_exp: 'MM'", { expiration_month: '07', expiration_year: '2030' }, '07'],
  ["card_exp: 'MM/YY'", { expiration_month: 3 }, null],
  ["card_exp: 'MM/YY'", {}, null],
  ["card_exp: 'MM/YY'", null, null],
  ["card_exp: 'MM/YY'", { expiration_month: 13, expiration_year: 2030 }, fails('a month and a year')],
  ["card_exp: 'MM/YY'", { expiration_month: [], expiration_year: 2030 }, fails('a month and a year')],
  ["card_exp: 'MM/YY'", { expiration_month: 3, expiration_year: exact }, fails('a month and a year')],
  ["card_exp: 'MM/YY'", '03/31', fails('the data of a card is needed')],
  ["card_exp: 'MMM'", card, fails('a format of M, MM, YY and YYYY')],
  ["card_exp: ''", card, ''],
])
