// Makes src/schema.ts of schema.graphql: the types of what the server answers to the package's documents. `npm run types` writes it; tests/package.test.mjs fails if it is not up to date.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { buildSchema, getNamedType, isEnumType, isInputObjectType, isListType, isNonNullType, isObjectType, isUnionType, parse, print } from "graphql";
import { documents } from "../dist/documents.js";

const SCALARS = { ID: "string", String: "string", DateTime: "string", JSON: "unknown", Int: "number", Boolean: "boolean" };

/** Where each type of src/schema.ts is selected: a document, and the field in it. */
const SELECTED = {
  User: ["content", "content.author"], Viewer: ["viewer", "viewer"], Media: ["content", "content.media"],
  Original: ["content", "content.repostOf"], Content: ["content", "content"], Edge: ["timeline", "timeline.edges"], Page: ["timeline", "timeline"],
  FeedEvent: ["newFeed", "newFeed"], UserError: ["signIn", "signIn.userErrors"],
};
const INPUTS = ["MediaInput"];

const HEADER = "// Generated from schema.graphql by scripts/types.mjs: `npm run types` writes it anew.\n";

/** The text of src/schema.ts. */
export function typesOf(schemaText) {
  const schema = buildSchema(schemaText);
  const enums = new Map();
  const fieldOf = (type, name) => type.getFields()[name] ?? fail(`${type} has no ${name}`);

  function rootOf(document) {
    const [operation] = parse(documents[document]).definitions;
    return { selectionSet: operation.selectionSet, type: schema.getRootType(operation.operation) };
  }
  function selected(document, path) {
    let at = rootOf(document);
    for (const name of path.split(".")) {
      const { selectionSet } = at.selectionSet.selections.find((field) => field.name.value === name) ?? fail(`${document} does not select ${path}`);
      at = { selectionSet, type: getNamedType(fieldOf(at.type, name).type) };
    }
    return at;
  }
  /** A place, or, where it has a type of a union, the union and each of its types. */
  function placesOf(name, { selectionSet, type }) {
    if (!isUnionType(type)) return [{ name, selectionSet, type }];
    const members = selectionSet.selections.filter(({ kind }) => kind === "InlineFragment").map(({ typeCondition, selectionSet: inner }) =>
      ({ name: typeCondition.name.value, selectionSet: inner, type: schema.getType(typeCondition.name.value), isMember: true }));
    const forgotten = type.getTypes().find((one) => !members.some((member) => member.type === one));
    return forgotten === undefined ? [...members, { name, members }] : fail(`${forgotten} of ${type} is not selected`);
  }
  const places = Object.entries(SELECTED).flatMap(([name, [document, path]]) => placesOf(name, selected(document, path)));
  const keyOf = ({ selectionSet, type }) => `${type} ${print(selectionSet)}`;
  const names = new Map(places.filter(({ members }) => members === undefined).map((place) => [keyOf(place), place.name]));

  /** A type as TypeScript says it. */
  function typeOf(type, ofNamed, isNullable = true) {
    if (isNonNullType(type)) return typeOf(type.ofType, ofNamed, false);
    const own = isListType(type) ? listOf(typeOf(type.ofType, ofNamed)) : ofNamed(type);
    return isNullable ? `${own} | null` : own;
  }
  const listOf = (own) => (own.includes(" ") ? `(${own})[]` : `${own}[]`);
  function leafOf(type) {
    if (isEnumType(type)) {
      enums.set(type.name, type.getValues().map(({ name }) => `"${name}"`).join(" | "));
      return type.name;
    }
    return SCALARS[type.name] ?? (isInputObjectType(type) ? type.name : fail(`${type} is no scalar that is known`));
  }

  const memberOf = ({ type }, { name: { value: name }, selectionSet: inner }) => {
    const ofNamed = (named) => (isObjectType(named) ? nestedOf({ selectionSet: inner, type: named }) : leafOf(named));
    return `${name}: ${typeOf(fieldOf(type, name).type, ofNamed)}`;
  };
  const nestedOf = (place) => names.get(keyOf(place)) ?? `{ ${place.selectionSet.selections.map((field) => memberOf(place, field)).join("; ")} }`;
  const membersOf = (place) => place.selectionSet.selections
    .map((field) => `${commentOf(fieldOf(place.type, field.name.value))}  ${memberOf(place, field)};`).join("\n");
  /** The first sentence of what the schema says. */
  function commentOf({ description }) {
    const [, sentence] = /^([\s\S]*?[.:])(?:\s|$)/.exec(description ?? "") ?? [];
    return sentence === undefined ? "" : `  /** ${sentence.replace(/\s+/g, " ").replace(/:$/, ".")} */\n`;
  }

  const declared = ({ name, members, isMember, ...place }) => {
    if (members !== undefined) return `export type ${name} = ${members.map((member) => member.name).join(" | ")};\n`;
    return `export interface ${name} {\n${isMember ? `  __typename: "${name}";\n` : ""}${membersOf(place)}\n}\n`;
  };
  const interfaces = places.map(declared);
  const inputs = INPUTS.map((name) => `export interface ${name} {\n${Object.values(schema.getType(name).getFields()).map((field) =>
    `${commentOf(field)}  ${field.name}${isNonNullType(field.type) ? "" : "?"}: ${typeOf(field.type, leafOf)};`).join("\n")}\n}\n`);
  const unions = [...enums].toSorted().map(([name, values]) => `export type ${name} = ${values};\n`);
  return [HEADER, ...unions, ...interfaces, ...inputs].join("\n");
}

function fail(why) { throw new Error(why); }

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(new URL("../src/schema.ts", import.meta.url), typesOf(readFileSync(new URL("../../../schema.graphql", import.meta.url), "utf8")));
}
