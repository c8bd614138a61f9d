// Endless scrolling, and what newFeed does to a reader who is far down.
import { expect, type Request } from "@playwright/test";
import { deleteContent, follow, numbered, publish, publishMany, register } from "./api";
import { openAs, postWith, scrollTo, waitUntilLive } from "./page";
import { test } from "./test";

const COUNT = 50;

test("scrolling reads page after page, to the end, in order and without repeating", async ({ page }) => {
  const reader = await register("reader", "Rita Reader");
  const writer = await register("writer", "Walt Writer");
  await follow(reader, writer);
  const texts = numbered("Wave", COUNT);
  await publishMany(writer, texts);

  await openAs(page, reader);
  await expect(postWith(page, `Wave ${COUNT}`)).toBeVisible();
  expect(await page.getByTestId("post").count()).toBeLessThan(COUNT);
  await scrollTo(page, page.getByTestId("feed-end"));
  await expect(page.getByTestId("post-text")).toHaveText(texts.toReversed());
});

test("a reader far down keeps their place while posts arrive and the line goes, and going back returns to it", async ({ page, context }) => {
  const reader = await register("reader", "Rita Reader");
  const writer = await register("writer", "Walt Writer");
  await follow(reader, writer);
  await publishMany(writer, numbered("Ripple", 30));

  await openAs(page, reader);
  await waitUntilLive(page);
  await scrollTo(page, postWith(page, "Ripple 1"));
  await postWith(page, "Ripple 3").scrollIntoViewIfNeeded();
  const place = await page.evaluate(() => window.scrollY);
  expect(place).toBeGreaterThan(500);

  await publish(writer, "Something new");
  await expect(page.getByTestId("new-posts")).toHaveText("1 new post");
  await expect(page.getByTestId("new-posts")).toBeInViewport();
  expect(await page.evaluate(() => window.scrollY)).toBe(place);

  await context.setOffline(true);
  await expect(page.getByTestId("line-notice")).toBeInViewport();
  expect(await page.evaluate(() => window.scrollY)).toBe(place);
  // Posts go by under the head, which is as wide as they are and opaque, and in which the button has its room.
  for (const further of [0, 37, 81, 140, 210, 333, 0]) {
    await page.evaluate((top) => { window.scrollTo(0, top); }, place + further);
    // The button and the notice come into their places within a moment.
    await expect(async () => {
      const { beneath, ...head } = await page.evaluate(() => {
        const boxes = (selector: string) => [...document.querySelectorAll(selector)].map((one) => one.getBoundingClientRect());
        const [[pill], [head], posts] = [boxes("[data-testid=new-posts]"), boxes(".timeline-head"), boxes("article")];
        const isOver = (one?: DOMRect) => one !== undefined && head !== undefined && head.left <= one.left && head.right >= one.right;
        const beneath = posts.filter((post) => pill !== undefined && post.top < pill.bottom && post.bottom > pill.top);
        const isInRow = head !== undefined && pill !== undefined && head.top <= pill.top && head.bottom >= pill.bottom;
        const opacity = getComputedStyle(document.querySelector(".timeline-head") ?? document.body).backgroundColor;
        return { isInHead: isInRow && isOver(pill), beneath: beneath.length, besideHead: beneath.filter((post) => !isOver(post)).length, isOpaque: opacity.startsWith("rgb(") };
      });
      expect(head, `${further} px further down`).toEqual({ isInHead: true, besideHead: 0, isOpaque: true });
      expect(beneath, `posts that go by ${further} px further down`).toBeGreaterThan(0);
    }).toPass({ timeout: 3_000 });
  }
  await context.setOffline(false);
  await waitUntilLive(page);

  await postWith(page, "Ripple 3").getByTestId("post-author").click();
  await expect(page.getByTestId("profile")).toBeVisible();
  await expect.poll(() => page.evaluate(() => window.scrollY)).toBe(0);
  await page.goBack();
  await expect.poll(() => page.evaluate(() => window.scrollY)).toBe(place);

  await page.getByTestId("new-posts").click();
  await expect(page.getByTestId("post-text").first()).toHaveText("Something new");
  await expect(page.getByTestId("post-text").first()).toBeInViewport();
});

test("a reader far down who follows someone on another device is offered the changed timeline", async ({ page }) => {
  const reader = await register("reader", "Rita Reader");
  const writer = await register("writer", "Walt Writer");
  const other = await register("other", "Olga Other");
  await follow(reader, writer);
  await publishMany(writer, numbered("Swell", 30));
  await publish(other, "From the other shore");

  await openAs(page, reader);
  await waitUntilLive(page);
  await scrollTo(page, postWith(page, "Swell 1"));
  const place = await page.evaluate(() => window.scrollY);
  await follow(reader, other);
  await expect(page.getByTestId("new-posts")).toBeVisible();
  expect(await page.evaluate(() => window.scrollY)).toBe(place);
  await page.getByTestId("new-posts").click();
  await expect(page.getByTestId("post-text").first()).toHaveText("From the other shore");
});

test("a page that comes in after the timeline was read anew leaves no gap", async ({ page }) => {
  // Tall enough that the second page is asked for without scrolling.
  await page.setViewportSize({ width: 1280, height: 2400 });
  const reader = await register("reader", "Rita Reader");
  const writer = await register("writer", "Walt Writer");
  const other = await register("other", "Olga Other");
  await follow(reader, writer);
  const before = numbered("Before", 30);
  const meanwhile = numbered("Meanwhile", 25);
  await publishMany(writer, before);

  let release = () => { /* set below */ };
  const released = new Promise<void>((resolve) => { release = resolve; });
  const readsOn = (request: Request) => /"after":"/.test(request.postData() ?? "");
  let held: Request | undefined;
  await page.route("**/graphql", async (route, request) => {
    if (readsOn(request)) held ??= request;
    if (request === held) await released;
    await route.continue();
  });
  const secondPage = page.waitForRequest(readsOn);
  await openAs(page, reader);
  await waitUntilLive(page);
  await secondPage;
  await publishMany(writer, meanwhile);
  await follow(reader, other);
  await expect(postWith(page, "Before 30")).toBeVisible();
  await page.getByTestId("new-posts").click();
  await expect(postWith(page, "Meanwhile 1")).toBeVisible();
  const late = page.waitForResponse((response) => response.request() === held);
  release();
  await (await late).finished();
  await scrollTo(page, page.getByTestId("feed-end"));
  await expect(page.getByTestId("post-text")).toHaveText([...before, ...meanwhile].toReversed());
});

// 1012 (service restart) is retried by the transport itself; 1011 (internal error) ends the subscription, and the page begins a new one.
for (const code of [1012, 1011]) {
  test(`after a connection lost with ${code} the reader is offered what was published, and loses what was deleted, meanwhile`, async ({ page }) => {
    const reader = await register("reader", "Rita Reader");
    const writer = await register("writer", "Walt Writer");
    await follow(reader, writer);
    await publish(writer, "Stays");
    const doomed = await publish(writer, "Soon deleted");

    let cut = () => { /* set when the page connects */ };
    let reachable = true;
    await page.routeWebSocket(/\/graphql\/ws$/, (socket) => {
      if (!reachable) {
        void socket.close({ code });
        return;
      }
      socket.connectToServer();
      cut = () => { void socket.close({ code }); };
    });
    await openAs(page, reader);
    await waitUntilLive(page);
    await expect(postWith(page, "Soon deleted")).toBeVisible();

    reachable = false;
    cut();
    await expect(page.getByTestId("live")).toHaveText("Reconnecting…");
    await publish(writer, "Written in the dark");
    await deleteContent(writer, doomed);
    reachable = true;
    await waitUntilLive(page);
    await expect(page.getByTestId("new-posts")).toHaveText("1 new post");
    await expect(page.getByTestId("post-text")).toHaveText(["Stays"]);
    await page.getByTestId("new-posts").click();
    await expect(page.getByTestId("post-text")).toHaveText(["Written in the dark", "Stays"]);
  });
}

test("PageDown and PageUp go from post to post", async ({ page }) => {
  const writer = await register("writer", "Walt Writer");
  await publishMany(writer, ["First", "Second"]);
  await openAs(page, writer);
  await postWith(page, "Second").focus();
  await page.keyboard.press("PageDown");
  await expect(postWith(page, "First")).toBeFocused();
  await page.keyboard.press("PageUp");
  await expect(postWith(page, "Second")).toBeFocused();
});
