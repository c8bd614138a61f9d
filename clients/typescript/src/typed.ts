// Operations with their types, as GraphQL Code Generator and gql.tada write them.

/** A document that brings the types of its answer and of its variables: a TypedDocumentString or a TypedDocumentNode. */
export interface TypedDocument<Data, Variables> { __apiType?: (variables: Variables) => Data }

/** What follows such a document: its variables, unless there are none to give, and options. */
export type Rest<Variables, Options> = Record<string, never> extends Variables ? [variables?: Variables, options?: Options] : [variables: Variables, options?: Options];

/** The text of a document. One that is a tree is printed by the package graphql, which whoever made it has. */
export async function textOf(document: unknown): Promise<string> {
  if (!(document as { kind?: string }).kind) return String(document);
  const { print } = await import("graphql");
  return print(document as Parameters<typeof print>[0]);
}
