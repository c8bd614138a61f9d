// The rules of the specification: the server accepts what graphql-js's `validate` accepts, and refuses what that refuses, before
// anything runs. And what is asked for twice under one response key runs once.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { buildSchema, parse, validate } from "graphql";
import { bearer, start } from "./server.mjs";

const schema = buildSchema(readFileSync(new URL("../../schema.graphql", import.meta.url), "utf8"));
const REFUSALS = ["GRAPHQL_PARSE_FAILED", "GRAPHQL_VALIDATION_FAILED"];

/** The code with which a document is not run. */
function expected(query) {
  try {
    return validate(schema, parse(query)).length === 0 ? undefined : "GRAPHQL_VALIDATION_FAILED";
  } catch {
    return "GRAPHQL_PARSE_FAILED";
  }
}

const U = "user(handle: \"nobody\")";

const DOCUMENTS = `
{ viewer { id handle } }
query Q { viewer { id } }
{ ${U} { id } a: ${U} { name } }
{ ${U} { id } ${U} { name } }
{ viewer { ...f } } fragment f on User { id contents(first: 1) { nodes { id author { id } } } }
{ viewer { ... { id } ... on User { name } ... on Node { id } } }
{ node(id: "C_x") { id __typename ... on Content { text } ... on User { handle } } }
{ node(id: 5) { id } }
{ nodes(ids: ["a", 5]) { id } }
{ nodes(ids: "a") { id } }
{ __schema { types { name } } __type(name: "User") { name } }
query A { viewer { id } } query B { viewer { handle } }
query($n: Int = 3) { timeline(first: $n) { nodes { id } } }
query($n: Int! = 3) { timeline(first: $n) { nodes { id } } }
query($n: Int!) { timeline(first: $n) { nodes { id } } }
query($b: Boolean!) { viewer @include(if: $b) @skip(if: false) { id } }
query($k: [ContentKind!]) { timeline(filter: {kinds: $k}) { nodes { id } } }
query($k: ContentKind!) { timeline(filter: {kinds: [$k]}) { nodes { id } } }
query($i: ID = "a") { node(id: $i) { id } }
query($i: ID!) { nodes(ids: [$i, "b"]) { id } }
query($f: TimelineFilter = {kinds: [POST]}) { timeline(filter: $f) { nodes { id } } }
{ timeline(filter: {kinds: POST}) { nodes { id } } }
{ timeline(filter: null, first: null) { nodes { id } } }
mutation { a: followUser(input: {userId: "x"}) { userErrors { code } } b: followUser(input: {userId: "y"}) { userErrors { code } } }
mutation M($i: FollowUserInput!) { followUser(input: $i) { userErrors { code field } } }
query { node(id: """block "quoted" """) { id } }
{ user(handle: """a \\""" b""") { id } }
"""docs""" query Q("the f" $f: Int = 1) { suggestedUsers(first: $f) { handle } }
"d" query A { viewer { ...F } } "e" fragment F on User { id }
query("whose" $h: String = "x" "how many" $n: Int) { user(handle: $h) { id } timeline(first: $n) { nodes { id } } }
"d" { viewer { id } }
"a" "b" query { viewer { id } }
query "x" Q { viewer { id } }
query Q("x" "y" $n: Int) { timeline(first: $n) { nodes { id } } }
query Q($n: Int "y") { timeline(first: $n) { nodes { id } } }
query($b: Boolean!) { viewer @include(if: "x" $b) { id } }
query @include(if: "x" $b) { viewer { id } }
query($i:ID){node(id:$i){id}}
query($h:String){user(handle:$h){id}}
query($i:[ID!]){nodes(ids:$i){id}}
query($i:[ID]!){nodes(ids:$i){id}}
query($i:String!){node(id:$i){id}}
query($i:ID = null){node(id:$i){id}}
mutation($i:RegisterUserInput){registerUser(input:$i){token}}
query($k:String){timeline(filter:{kinds:[$k]}){nodes{id}}}
query($k:ContentKind){timeline(filter:{kinds:[$k]}){nodes{id}}}
query($k:ContentKind!){timeline(filter:{kinds:$k}){nodes{id}}}
mutation($h:String){signIn(input:{handle:$h,password:"x"}){token}}
query($h:String){...f} fragment f on Query {user(handle:$h){id}}
query($b:Boolean){viewer @include(if:$b){id}}
query($b:Boolean=null){viewer @include(if:$b){id}}
query($i:FollowUserInput!){viewer{id}}
query($u:User){viewer{id}}
query($x:Missing){viewer{id}}
query($x:Int,$x:Int){timeline(first:$x){nodes{id}}}
query($x:Int="3"){timeline(first:$x){nodes{id}}}
{timeline(first:$x){nodes{id}}}
query A($x:Int){...f} query B{...f} fragment f on Query{timeline(first:$x){nodes{id}}}
{ __typename @foo }
query($x:Int @foo){timeline(first:$x){nodes{id}}}
query @skip(if:true){viewer{id}}
{viewer{id @skip}}
{viewer{id @skip(if:"x")}}
{viewer{id @skip(iff:true)}}
{viewer{id @skip(if:true) @skip(if:true)}}
{viewer{id @deprecated}}
{viewer{...f @defer}} fragment f on User{id}
{__typename{x}}
{viewer{__typename(x:1)}}
{viewer}
{viewer{id{x}}}
{viewer{missing}}
{missing}
{user(handel:"x"){id}}
{user{id}}
{user(handle:null){id}}
{user(handle:7){id}}
{user(handle:x){id}}
{user(handle:"a",handle:"b"){id}}
{node(id:1.5){id}}
{node(id:true){id}}
{timeline(first:"3"){nodes{id}}}
{timeline(first:1.0){nodes{id}}}
{timeline(first:2147483647){nodes{id}}}
{timeline(first:2147483648){nodes{id}}}
{timeline(first:9223372036854775807){nodes{id}}}
{timeline(filter:{kinds:["POST"]}){nodes{id}}}
{timeline(filter:{kinds:[SONG]}){nodes{id}}}
{timeline(filter:{kinds:[null]}){nodes{id}}}
{timeline(filter:{kinds:[POST],kinds:[REPLY]}){nodes{id}}}
{timeline(filter:{colour:RED}){nodes{id}}}
{timeline(filter:[]){nodes{id}}}
mutation{followUser(input:{}){userErrors{code}}}
mutation{followUser{userErrors{code}}}
{node(id:"x"){... on Content{x:text} ... on User{x:followerCount}}}
{node(id:"x"){... on Content{x:text} ... on User{x:name}}}
{node(id:"x"){... on Content{x:id} ... on User{x:id}}}
{viewer{x:id x:handle}}
{a:viewer{id} a:user(handle:"x"){id}}
{viewer{contents(first:1){nodes{id}} contents(first:2){nodes{id}}}}
{viewer{...f x:id}} fragment f on User{x:handle}
{viewer{... on Content{id}}}
{viewer{...f}} fragment f on Content{id}
{viewer{... on Missing{id}}}
{viewer{... on String{id}}}
{viewer{...f}} fragment f on TimelineFilter{id}
{viewer{...missing}}
{viewer{id}} fragment f on User{id}
{viewer{...f}} fragment f on User{id} fragment f on User{name}
{viewer{...f}} fragment f on User{...f}
query A{viewer{id}} query A{viewer{id}}
{viewer{id}} query B{viewer{id}}
subscription{a:newFeed{__typename} b:newFeed{__typename}}
subscription{__typename}
fragment on on User{id} {viewer{...on}}
type X{a:Int} {viewer{id}}
extend type User{a:Int} {viewer{id}}
{viewer{}}
{viewer(){id}}
query(){viewer{id}}
{viewer{id}
{viewer{id}}}
{user(handle:"x){id}}
{timeline(first:01){nodes{id}}}
{timeline(first:1x){nodes{id}}}
{timeline(filter:{kinds:[POST}){nodes{id}}}
{viewer{id,,, # nothing
{user(handle:"\\u{1F600} \\ud83d\\ude00"){id}}
query($i:[ ID! ] !){nodes(ids:$i){id}}
query($n:Int=3 @skip(if:true)){timeline(first:$n){nodes{id}}}
{timeline(first:-0){nodes{id}}}
{node(id:"x"){..., on User{name}}}
{node(id:nullable){id}}
{user(handle){id}}
{user(handle:"x" id){id}}
{timeline(filter:{kinds}){nodes{id}}}
{viewer{id @skip(if)}}
{user(handle:"\\ud83d"){id}}
{timeline(first:1e999){nodes{id}}}
queryQ{viewer{id}}
`.split("\n").filter((line) => line !== "");

const server = await start();
const ann = await server.register("ann");

for (const query of DOCUMENTS) {
  const code = expected(query);
  test(`${code ?? "valid"}: ${query}`, async () => {
    const { json } = await server.post({ query }, bearer(ann.token));
    const refusals = json.errors?.filter((error) => REFUSALS.includes(error.extensions.code)) ?? [];
    if (code === undefined) {
      assert.deepEqual(refusals, []);
      return;
    }
    assert.ok(refusals.length > 0 && json.data === undefined, JSON.stringify(json));
    assert.ok(refusals.every((error) => error.locations?.length > 0), JSON.stringify(json));
    // Two operations of one name, and definitions of types, are what our parser refuses already.
    if (code === "GRAPHQL_PARSE_FAILED") assert.equal(refusals[0].extensions.code, code);
  });
}

test("the documents are of both kinds, and more than a hundred", () => {
  const valid = DOCUMENTS.filter((query) => expected(query) === undefined).length;
  assert.ok(valid >= 25 && DOCUMENTS.length - valid >= 60, `${valid} of ${DOCUMENTS.length}`);
});

test("a content that is published twice under one response key exists once, and both selections are answered", async () => {
  const publish = (inner) => `publishContent(input: { text: "once" }) { ${inner} }`;
  const [errors, edge] = [publish("userErrors { code }"), publish("timelineEdge { node { id } }")];
  const count = async () => (await server.data("{ viewer { contentCount } }", {}, ann.token)).viewer.contentCount;
  for (const query of [`mutation { ${errors} ${edge} }`, `mutation { ${errors} ...f } fragment f on Mutation { ${edge} }`]) {
    const before = await count();
    const { publishContent } = await server.data(query, {}, ann.token);
    assert.deepEqual(publishContent.userErrors, []);
    assert.match(publishContent.timelineEdge.node.id, /^C_/);
    assert.equal(await count(), before + 1);
  }
});

test("block strings and descriptions mean what the specification says", async () => {
  const text = async (document, field = "publishContent") => {
    const data = await server.data(document, {}, ann.token);
    assert.deepEqual(data[field].userErrors ?? [], []);
    return data[field].timelineEdge?.node.text ?? data[field].user.bio;
  };
  const block = String.raw`"""say \""" end"""`;
  const publish = "{ userErrors { code } timelineEdge { node { text } } }";
  assert.equal(await text(`mutation { publishContent(input: { text: ${block} }) ${publish} }`), 'say """ end');
  assert.equal(await text(`mutation($t: String! = ${block}) { publishContent(input: { text: $t }) ${publish} }`), 'say """ end');
  assert.equal(await text(`mutation { updateProfile(input: { bio: ${block} }) { userErrors { code } user { bio } } }`, "updateProfile"), 'say """ end');
  const described = `"""docs""" query Q("the f" $f: Int = 1) { suggestedUsers(first: $f) { handle } ...F } "more" fragment F on Query { __typename }`;
  assert.equal((await server.data(described)).__typename, "Query");
  const { json } = await server.post({ query: "\"\"\"é\n\"\"\" query Q(\"the f\" $f: Int = 1) { __typename }" });
  assert.deepEqual(json.errors[0].locations, [{ line: 2, column: 21 }], "of the variable, which is not used");
});
