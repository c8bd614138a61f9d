// The same list in Relay's store.
import { type ConcreteRequest, createOperationDescriptor, type Environment } from "relay-runtime";
import { keep, SELECTION, TEXT, TEXT_OF_KINDS, type TimelineData, TYPES } from "./connection.js";
import type { Timeline } from "./timeline.js";
import type { ContentKind } from "./types.js";

export type { TimelineConnection, TimelineData } from "./connection.js";

/** For `useLazyLoadQuery<TimelineQuery>(TIMELINE, {}, { fetchPolicy: "store-only" })`. */
export interface TimelineQuery { response: Partial<TimelineData>; variables: Record<string, never> }
export interface TimelineOfKindsQuery { response: Partial<TimelineData>; variables: { kinds: readonly ContentKind[] } }

const PLURAL = ["edges", "media"];

/** What relay-compiler makes of a selection: `words` up to its end, which are taken away. */
function selections(words: string[]): unknown[] {
  const fields: unknown[] = [];
  for (let name = words.shift(); name !== undefined && name !== "}"; name = words.shift()) {
    if (words[0] !== "{") {
      fields.push({ alias: null, args: null, kind: "ScalarField", name, storageKey: null });
      continue;
    }
    words.shift();
    fields.push({
      alias: null, args: null, concreteType: TYPES[name], kind: "LinkedField", name, plural: PLURAL.includes(name), selections: selections(words), storageKey: null,
    });
  }
  return fields;
}

/** What relay-compiler makes of `text`. */
function compiled(text: string, variables: string[]): ConcreteRequest {
  const name = text.split(/\W/, 2)[1];
  const fields = variables.map((variable) => ({ kind: "Variable", name: variable, variableName: variable }));
  const timeline = {
    alias: null, args: fields.length === 0 ? null : [{ fields, kind: "ObjectValue", name: "filter" }], concreteType: TYPES.timeline, kind: "LinkedField",
    name: "timeline", plural: false, selections: selections(SELECTION.match(/\w+|[{}]/g) ?? []), storageKey: null,
  };
  const argumentDefinitions = variables.map((variable) => ({ defaultValue: null, kind: "LocalArgument", name: variable }));
  return {
    fragment: { argumentDefinitions, kind: "Fragment", metadata: null, name, selections: [timeline], type: "Query", abstractKey: null },
    kind: "Request",
    operation: { argumentDefinitions, kind: "Operation", name, selections: [timeline] },
    params: { cacheID: name, id: null, metadata: {}, name, operationKind: "query", text },
  } as unknown as ConcreteRequest;
}

/** The list, to be read with the fetch policy "store-only"; so does any query that asks for some of its fields. */
export const TIMELINE: ConcreteRequest = /* @__PURE__ */ compiled(TEXT, []);
/** That of a timeline of some kinds. */
export const TIMELINE_OF_KINDS: ConcreteRequest = /* @__PURE__ */ compiled(TEXT_OF_KINDS, ["kinds"]);

/** Keeps what `timeline` shows in the store of `environment`, also while no component shows it. Returns a function that ends it. */
export function keepInStore(timeline: Timeline, environment: Environment): () => void {
  const { kinds } = timeline;
  const operation = kinds === null ? createOperationDescriptor(TIMELINE, {}) : createOperationDescriptor(TIMELINE_OF_KINDS, { kinds });
  const retained = environment.retain(operation);
  const end = keep(timeline, (data) => { environment.commitPayload(operation, data as unknown as Parameters<Environment["commitPayload"]>[1]); });
  return () => {
    end();
    retained.dispose();
  };
}
