// docs/swift.md and docs/kotlin.md: their operations fit the schema and the real binary answers them, and their code names every event that `newFeed` tells.
import { buildSchema, getNamedType, parse, print, validate } from "graphql";
import { createClient } from "graphql-ws";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import WebSocket from "ws";
import { PASSWORD, start, until } from "../clients/server.mjs";

const read = (name) => readFileSync(new URL(`../../${name}`, import.meta.url), "utf8");
const schema = buildSchema(read("schema.graphql"));
/** Told to none but those who ask with `compares`. */
const IF_ASKED = ["TimelineMayDiffer"];

/** A page's code by file name. */
const filesOf = (page) => new Map([...read(page).matchAll(/^```\w+ file=(\S+)\n([\s\S]*?)^```$/gm)].map(([, name, text]) => [name, text]));

/** By its name, each operation with the fragments, as a client sends it. */
function operationsOf(text) {
  const { definitions } = parse(text);
  const fragments = definitions.filter(({ kind }) => kind === "FragmentDefinition");
  const uses = (operation) => (print(operation).includes("...") ? fragments : []);
  return new Map(definitions.filter(({ kind }) => kind === "OperationDefinition")
    .map((operation) => [operation.name.value, [operation, ...uses(operation)].map(print).join("\n")]));
}

for (const [page, timeline] of [["docs/swift.md", "Timeline.swift"], ["docs/kotlin.md", "Timeline.kt"]]) {
  const files = filesOf(page);
  const text = files.get("operations.graphql");

  test(`${page}: the operations fit schema.graphql, and every event is asked for and taken`, () => {
    const document = parse(text);
    assert.deepEqual(validate(schema, document).map(({ message }) => message), []);
    const events = getNamedType(schema.getSubscriptionType().getFields().newFeed.type).getTypes().filter(({ name }) => !IF_ASKED.includes(name));
    const subscription = document.definitions.find(({ operation }) => operation === "subscription");
    const asked = subscription.selectionSet.selections[0].selectionSet.selections.map(({ typeCondition, selectionSet }) =>
      [typeCondition.name.value, selectionSet.selections.map(({ name }) => name.value).toSorted()]);
    assert.deepEqual(asked.toSorted(), events.map((event) => [event.name, Object.keys(event.getFields()).toSorted()]).toSorted());
    const conversion = files.get(timeline);
    for (const { name } of events) assert.match(conversion, new RegExp(`\\b(as|on)${name}\\b`), `${timeline} does not take ${name}`);
  });

  test(`${page}: the server answers every operation`, async () => {
    const operations = operationsOf(text);
    const server = await start();
    const ann = await server.register("ann");
    const { signIn } = await server.data(operations.get("SignIn"), { input: { handle: "ann", password: PASSWORD } });
    assert.deepEqual(signIn.userErrors, []);
    const { refreshToken } = await server.data(operations.get("RefreshToken"), { input: { refreshToken: signIn.refreshToken } });
    assert.deepEqual(refreshToken.userErrors, []);
    const { timeline: before } = await server.data(operations.get("TimelinePage"), { first: 20 }, refreshToken.token);
    const client = createClient({ url: server.ws, webSocketImpl: WebSocket, connectionParams: { authorization: `Bearer ${refreshToken.token}` } });
    const [told, failures] = [[], []];
    const leave = client.subscribe({ query: operations.get("NewFeed"), variables: { after: before.resumeToken } }, {
      next: ({ data, errors = [] }) => {
        failures.push(...errors);
        told.push(data?.newFeed);
      },
      error: (error) => failures.push(error),
      complete: () => {},
    });
    const { publishContent } = await server.data(operations.get("Publish"), { text: "Low tide at six.", key: "draft-1" }, ann.token);
    assert.deepEqual(publishContent.userErrors, []);
    await until("it is told", () => failures.length > 0 || told.some(({ timelineEdge }) => timelineEdge?.node.text === "Low tide at six."));
    leave();
    await client.dispose();
    assert.deepEqual(failures, []);
    assert.ok(told.every(({ resumeToken }) => resumeToken !== null));
    assert.deepEqual([...operations.keys()].toSorted(), ["NewFeed", "Publish", "RefreshToken", "SignIn", "TimelinePage"]);
  });
}
