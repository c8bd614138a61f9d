// Faces and banners, which a server with the demo draws. Pictures in test-results/screens/.
import { expect, type Locator } from "@playwright/test";
import { follow, type Person, publish, register } from "./api";
import { openAs, postWith } from "./page";
import { test } from "./test";

let vera: Person;
let finn: Person;

test.beforeEach(async () => {
  [vera, finn] = [await register("vera", "Vera Shore"), await register("finn", "Finn Harbour")];
  await follow(vera, finn);
});

/** 0 until the picture has really loaded. */
const widthOf = (picture: Locator) => picture.evaluate((it: HTMLImageElement) => (it.complete ? it.naturalWidth : 0));

test("who has no picture has a face of their own, the same everywhere", async ({ page }) => {
  await publish(finn, "Here I am");
  await publish(vera, "And I");
  await openAs(page, vera);
  const faceIn = (place: Locator) => place.getByTestId("generated-avatar").evaluate(async (face: HTMLImageElement) => (await fetch(face.src)).text());
  const [his, hers] = [await faceIn(postWith(page, "Here I am")), await faceIn(postWith(page, "And I"))];
  expect(his).toContain("<svg");
  expect(his).not.toBe(hers);
  await page.goto(`/#/u/${finn.handle}`);
  const profile = page.getByTestId("profile");
  await expect(profile).toBeVisible();
  expect(await faceIn(profile)).toBe(his);
  await expect.poll(() => widthOf(profile.getByTestId("generated-avatar"))).toBeGreaterThan(0);
});

test("two people have two banners, each kept for ever", async ({ page }) => {
  await openAs(page, vera);
  const drawn = new Set<string>();
  for (const { handle } of [vera, finn]) {
    await page.goto(`/#/u/${handle}`);
    await expect(page.getByTestId("profile")).toContainText(`@${handle}`);
    const banner = page.getByTestId("profile-banner");
    await expect.poll(() => widthOf(banner)).toBeGreaterThan(0);
    const address = await banner.evaluate((picture: HTMLImageElement) => picture.src);
    const response = await page.request.get(address);
    expect([response.status(), response.headers()["content-type"]]).toEqual([200, "image/svg+xml"]);
    expect(response.headers()["cache-control"]).toContain("immutable");
    drawn.add(await response.text());
  }
  expect(drawn.size).toBe(2);
});

test("a person of the seeded world has an avatar that other frontends see too", async ({ page }) => {
  const { data } = await (await page.request.post("/graphql", { data: { query: `{ user(handle: "demo") { handle avatarUrl following(first: 1) { nodes { handle avatarUrl } } } }` } })).json() as
    { data: { user: { handle: string; avatarUrl: string; following: { nodes: { handle: string; avatarUrl: string }[] } } } };
  await openAs(page, vera);
  for (const { handle, avatarUrl } of [data.user, ...data.user.following.nodes]) {
    const served = await page.request.get(avatarUrl);
    expect([served.status(), served.headers()["content-type"]]).toEqual([200, "image/svg+xml"]);
    await page.goto(`/#/u/${handle}`);
    await expect(page.getByTestId("profile")).toContainText(`@${handle}`);
    await expect.poll(() => widthOf(page.getByTestId("profile").getByTestId("avatar"))).toBeGreaterThan(0);
  }
});

test("a picture of one's own that does not load gives way to the drawn one", async ({ page }) => {
  const changed = await page.request.post("/graphql", {
    headers: { authorization: `Bearer ${finn.token}` },
    data: { query: `mutation { updateProfile(input: { avatarUrl: "https://pictures.invalid/finn.png" }) { userErrors { code } } }` },
  });
  expect(changed.ok()).toBe(true);
  await openAs(page, vera, `/#/u/${finn.handle}`);
  await expect.poll(() => widthOf(page.getByTestId("profile").getByTestId("generated-avatar"))).toBeGreaterThan(0);
});

test("with a server that draws nothing a profile has a plain face and banner", async ({ page }) => {
  await page.route(/\/(avatars|banners)\//, (route) => route.fulfill({ status: 404, body: "" }));
  await openAs(page, vera, `/#/u/${finn.handle}`);
  const profile = page.getByTestId("profile");
  await expect(profile.getByTestId("no-avatar")).toBeVisible();
  await expect(profile.getByTestId("no-banner")).toBeVisible();
});
