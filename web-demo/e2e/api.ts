// What the tests do behind the page's back: plain GraphQL requests to the server under test.
import { setTimeout } from "node:timers/promises";
import { expect, test } from "@playwright/test";

export interface Person {
  id: string;
  handle: string;
  name: string;
  password: string;
  token: string;
  expiresAt: string | null;
  refreshToken: string | null;
}

let drawn = Number(process.env.TEST_PARALLEL_INDEX ?? 0);

/** A handle that no earlier run has taken, and no other worker of this one: in the same millisecond they draw different numbers. */
export function freshHandle(stem: string): string {
  drawn += test.info().config.workers;
  return `${stem}_${Date.now().toString(36)}${drawn.toString(36)}`;
}

let other: string | undefined;

/** From now on everything is asked of this server instead of the one under test; undefined: of that one again. */
export function speakTo(server: string | undefined) {
  other = server;
}

async function send<Data>(query: string, variables: unknown, token?: string, more: Record<string, string> = {}): Promise<Data> {
  const baseURL = other ?? test.info().project.use.baseURL;
  const response = await fetch(new URL("/graphql", baseURL), {
    method: "POST",
    headers: { ...more, "content-type": "application/json", ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
    body: JSON.stringify({ query, variables }),
  });
  const answer = await response.json() as { data?: Data; errors?: unknown };
  expect(answer.errors, JSON.stringify(answer.errors)).toBeUndefined();
  if (answer.data === undefined) throw new Error(`no data: ${JSON.stringify(answer)}`);
  return answer.data;
}

export async function register(stem: string, name: string): Promise<Person> {
  const handle = freshHandle(stem);
  const password = `pass-${handle}`;
  const { registerUser: { user, token, expiresAt, refreshToken } } = await send<{
    registerUser: { user: { id: string }; token: string; expiresAt: string | null; refreshToken: string | null };
  }>(
    "mutation($input: RegisterUserInput!) { registerUser(input: $input) { user { id } token expiresAt refreshToken userErrors { message } } }",
    { input: { handle, name, password, bio: `${name} walks along the shore.` } },
  );
  return { id: user.id, handle, name, password, token, expiresAt, refreshToken };
}

/** The same person with a session of its own, begun by a client that calls itself `userAgent`. */
export async function signIn({ handle, password, ...person }: Person, userAgent: string): Promise<Person> {
  const { signIn: tokens } = await send<{ signIn: Pick<Person, "token" | "expiresAt" | "refreshToken"> }>(
    "mutation($input: SignInInput!) { signIn(input: $input) { token expiresAt refreshToken userErrors { message } } }",
    { input: { handle, password } }, undefined, { "user-agent": userAgent },
  );
  return { ...person, handle, password, ...tokens };
}

/** Three who do not know each other. */
export async function registerThree(): Promise<[Person, Person, Person]> {
  return [await register("vera", "Vera Shore"), await register("finn", "Finn Harbour"), await register("nell", "Nell Newcomer")];
}

export interface MediaInput {
  kind: string;
  url: string;
  width: number;
  height: number;
  alt: string;
}

async function publishInput(author: Person, input: { text: string; media?: readonly MediaInput[]; replyTo?: string }): Promise<string> {
  const { publishContent } = await send<{ publishContent: { timelineEdge: { node: { id: string } } } }>(
    "mutation($input: PublishContentInput!) { publishContent(input: $input) { timelineEdge { node { id } } userErrors { message } } }",
    { input },
    author.token,
  );
  return publishContent.timelineEdge.node.id;
}

/** The new content's id. */
export function publish(author: Person, text: string, media: readonly MediaInput[] = []): Promise<string> {
  return publishInput(author, { text, media });
}

/** The new reply's id. */
export function reply(author: Person, replyTo: string, text: string): Promise<string> {
  return publishInput(author, { text, replyTo });
}

export async function repost(person: Person, contentId: string) {
  await send(
    "mutation($input: RepostContentInput!) { repostContent(input: $input) { content { id } userErrors { message } } }",
    { input: { contentId } },
    person.token,
  );
}

/** Publishes one after the other, each in a millisecond of its own: within one, the order would be by content id. The new ids. */
export async function publishMany(author: Person, texts: readonly string[]): Promise<string[]> {
  const ids: string[] = [];
  for (const text of texts) {
    ids.push(await publish(author, text));
    await setTimeout(2);
  }
  return ids;
}

export async function deleteContent(author: Person, contentId: string) {
  await send(
    "mutation($input: DeleteContentInput!) { deleteContent(input: $input) { deletedContentId userErrors { message } } }",
    { input: { contentId } },
    author.token,
  );
}

export async function follow(follower: Person, author: Person) {
  await send(
    "mutation($input: FollowUserInput!) { followUser(input: $input) { user { id } userErrors { message } } }",
    { input: { userId: author.id } },
    follower.token,
  );
}

export async function like(person: Person, contentId: string) {
  await send(
    "mutation($input: LikeContentInput!) { likeContent(input: $input) { content { id } userErrors { message } } }",
    { input: { contentId } },
    person.token,
  );
}

export async function bookmark(person: Person, contentId: string) {
  await send(
    "mutation($input: BookmarkContentInput!) { bookmarkContent(input: $input) { content { id } userErrors { message } } }",
    { input: { contentId } },
    person.token,
  );
}

async function keepOut(person: Person, mutation: "muteUser" | "hideFromFollower" | "blockUser", other: Person) {
  await send(
    `mutation($input: ${mutation.charAt(0).toUpperCase()}${mutation.slice(1)}Input!) { ${mutation}(input: $input) { user { id } userErrors { message } } }`,
    { input: { userId: other.id } },
    person.token,
  );
}

export function mute(person: Person, other: Person) {
  return keepOut(person, "muteUser", other);
}

export function hideFrom(person: Person, other: Person) {
  return keepOut(person, "hideFromFollower", other);
}

export function block(person: Person, other: Person) {
  return keepOut(person, "blockUser", other);
}

/** Ends the session that the token of `person` belongs to. */
export async function signOut(person: Person) {
  await send("mutation { signOut { endedSessionCount } }", {}, person.token);
}

/** Ends all sessions of `person` on the server, as another device would. */
export async function endSessions(person: Person) {
  await send("mutation { signOutEverywhere { endedSessionCount } }", {}, person.token);
}

/** Whether the server still takes the token of `person`. */
export async function isTaken(person: Person): Promise<boolean> {
  const baseURL = test.info().project.use.baseURL;
  const headers = { accept: "application/graphql-response+json", authorization: `Bearer ${person.token}` };
  const response = await fetch(new URL("/graphql?query={__typename}", baseURL), { headers });
  return response.status !== 401;
}

/** Whether the server has the account that `tidefeed seed` makes for looking around. */
export async function hasDemo(): Promise<boolean> {
  const { user } = await send<{ user: { id: string } | null }>("query($handle: String!) { user(handle: $handle) { id } }", { handle: "demo" });
  return user !== null;
}

/** The session of that account. */
export function signInDemo(): Promise<Person> {
  return signIn({ id: "", handle: "demo", name: "", password: "demo-tidefeed", token: "", expiresAt: null, refreshToken: null }, "A slow phone");
}

/** `count` texts "stem 1" to "stem n", in the order in which they are to be published. */
export function numbered(stem: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${stem} ${index + 1}`);
}
