import type { OpenApiDocument, Parameter, Schema } from '../../contract/openapi-document.ts'
import type { Json } from '../../domain/json/json.ts'
import { type Html, html, type Part } from './html.ts'
import type { Links } from './links.ts'

// How the documentation writes shapes: tables of fields, and forms in a few words.

export const shape = (links: Links, schema: Schema): Html =>
  fieldTable(links, schema) ?? html`<p>${formOf(links, schema)}. ${schema.description}</p>`

/** The fields of an object. Fields of an inline object follow the field that holds it, with dotted names. */
export const fieldTable = (links: Links, schema: Schema): Html | undefined => {
  const rows = fieldRows(links, schema, '')
  return rows.length === 0 ? undefined : table(['Field', 'Form', 'Meaning'], rows)
}

const fieldRows = (links: Links, { properties = {}, required = [] }: Schema, before: string): Part[][] =>
  Object.entries(properties).flatMap(([name, field]) => [
    row(links, before + name, required.includes(name), field, field.description),
    ...fieldRows(links, field, `${before}${name}.`),
    ...fieldRows(links, field.items ?? {}, `${before}${name}[].`),
  ])

export const parameterTable = (links: Links, parameters: readonly Parameter[]): Html =>
  table(
    ['Parameter', 'Form', 'Meaning'],
    parameters.map(({ name, required, schema, description, in: place }) =>
      row(
        links,
        name,
        required === true,
        schema,
        place === 'query' ? description : `In the ${place}. ${description}`,
      ),
    ),
  )

const row = (
  links: Links,
  name: string,
  isRequired: boolean,
  schema: Schema,
  description: string | undefined,
): Part[] => [[code(name), isRequired && html` <small>required</small>`], formOf(links, schema), description]

/** What a value may be, in a few words. */
export const formOf = (links: Links, schema: Schema, isAmongOthers = false): Part => {
  const { $ref, anyOf, enum: values, items, additionalProperties } = schema
  if ($ref !== undefined) return links.toShape(lastPart($ref))
  if (anyOf !== undefined) return anyOf.map((one, at) => [at > 0 && ' or ', formOf(links, one, true)])
  if (values !== undefined)
    return values.map((value, at) => [at > 0 && ' | ', code(choiceText(value, values, isAmongOthers))])
  const types = [schema.type ?? 'any JSON'].flat()
  return [
    types.filter(type => type !== 'null').join(' or '),
    bounds(schema),
    items && [' of ', formOf(links, items)],
    additionalProperties && [' of ', formOf(links, additionalProperties)],
    types.includes('null') && ' or null',
    schema.default !== undefined && `, default ${jsonText(schema.default)}`,
  ]
}

/** Quoted if other values beside it are not text: `"true"` and `true` would look the same. */
const choiceText = (value: Json, all: readonly Json[], isAmongOthers: boolean): string | undefined =>
  !isAmongOthers && all.every(one => typeof one === 'string' || one === null)
    ? jsonText(value)
    : JSON.stringify(value)

const bounds = (schema: Schema): string | undefined => {
  const { format, minLength, maxLength, minItems, maxItems, minimum, maximum } = schema
  if (format !== undefined) return ` (${format})`
  if (maxLength !== undefined) return ` (${range(minLength, maxLength)} characters)`
  if (maxItems !== undefined) return ` (${range(minItems, maxItems)})`
  return maximum === undefined ? undefined : ` (${range(minimum, maximum)})`
}

const range = (min: number | undefined, max: number): string =>
  `${min === undefined ? 'up' : min} to ${max.toLocaleString('en')}`

export const resolve = (schema: Schema, schemas: OpenApiDocument['components']['schemas']): Schema =>
  (schema.$ref === undefined ? undefined : schemas[lastPart(schema.$ref)]) ?? schema

/** On a narrow screen the cells of a row stand below each other. */
export const table = (titles: readonly string[], rows: readonly (readonly Part[])[]): Html =>
  html`<table><thead><tr>${titles.map(title => (title === '' ? html`<td></td>` : html`<th scope="col">${title}</th>`))}</tr></thead>${rows.map(
    cells => html`<tr>${cells.map(cell => html`<td>${cell}</td>`)}</tr>
`,
  )}</table>`

export const code = (text: string | undefined): Html | undefined =>
  text === undefined ? undefined : html`<code>${text}</code>`
/** Scrolls sideways if it must, which takes a keyboard too. */
export const pre = (language: string, text: string): Html =>
  html`<pre tabindex="0" data-lang="${language}">${text}</pre>`
export const jsonText = (value: Json | undefined): string | undefined =>
  value === undefined || typeof value === 'string' ? value : JSON.stringify(value)
export const lastPart = (reference: string): string => reference.split('/').at(-1) ?? ''
