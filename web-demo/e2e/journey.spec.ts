// The whole way of two new users, each in a browser context of their own.
import { expect } from "@playwright/test";
import { freshHandle } from "./api";
import { choose, findAndFollow, postWith, signUp, waitUntilLive, write } from "./page";
import { test } from "./test";

test("two users sign up, one follows, and the other's posts arrive live", async ({ browser, baseURL }) => {
  const annHandle = freshHandle("ann");
  const bobHandle = freshHandle("bob");
  const ann = await (await browser.newContext({ baseURL })).newPage();
  const bob = await (await browser.newContext({ baseURL })).newPage();

  await test.step("both sign up and find an empty timeline that says what to do", async () => {
    await signUp(ann, annHandle, "Ann Reader");
    await signUp(bob, bobHandle, "Bob Writer");
    await expect(ann.getByTestId("empty-timeline")).toContainText("follow them");
  });

  await test.step("Bob's post is on his own timeline at once", async () => {
    await write(bob, "Before anyone follows me");
    await expect(postWith(bob, "Before anyone follows me")).toBeVisible();
    await expect(bob.getByTestId("compose-text")).toHaveValue("");
    await write(bob, "And once more before that");
    await expect(postWith(bob, "And once more before that")).toBeVisible();
  });

  await test.step("Ann follows Bob, and what he wrote before is on her timeline at once, newest first, below whom else she may follow", async () => {
    await expect(ann.getByTestId("some-people")).toBeVisible();
    await findAndFollow(ann, bobHandle);
    await expect(ann.getByTestId("post-text")).toHaveText(["And once more before that", "Before anyone follows me"]);
    await expect(ann.getByTestId("new-posts")).toHaveCount(0);
    await expect(ann.getByTestId("empty-timeline")).toHaveCount(0);
    await expect(ann.getByTestId("some-people")).toBeVisible();
  });

  await test.step("Bob publishes two posts; they wait in Ann's pill, then stand on top", async () => {
    await waitUntilLive(ann);
    await write(bob, "High tide at noon");
    await expect(ann.getByTestId("new-posts")).toHaveText("1 new post");
    await write(bob, "Low tide at six");
    await expect(ann.getByTestId("new-posts")).toHaveText("2 new posts");
    await expect(postWith(ann, "High tide at noon")).toHaveCount(0);
    await ann.getByTestId("new-posts").click();
    await expect(ann.getByTestId("post-text")).toHaveText(["Low tide at six", "High tide at noon", "And once more before that", "Before anyone follows me"]);
    await expect(ann.getByTestId("new-posts")).toHaveCount(0);
  });

  await test.step("Bob deletes one, and it leaves Ann's timeline by itself", async () => {
    const post = postWith(bob, "High tide at noon");
    await choose(post, "delete");
    await post.getByTestId("delete-confirm").click();
    await expect(postWith(bob, "High tide at noon")).toHaveCount(0);
    await expect(postWith(ann, "High tide at noon")).toHaveCount(0);
  });

  await test.step("Ann unfollows on Bob's profile, and his posts are gone", async () => {
    await ann.getByTestId("post-author").first().click();
    const profile = ann.getByTestId("profile");
    await expect(profile).toContainText("Bob Writer");
    await expect(ann.getByTestId("post-text")).toHaveText(["Low tide at six", "And once more before that", "Before anyone follows me"]);
    const followers = Number(await profile.getByTestId("follower-count").textContent());
    await profile.getByTestId("follow").click();
    await expect(profile.getByTestId("follow")).toHaveText("Follow");
    await expect(profile.getByTestId("follower-count")).toHaveText(String(followers - 1));
    await ann.getByTestId("nav-timeline").click();
    await expect(ann.getByTestId("empty-timeline")).toBeVisible();
    await expect(ann.getByTestId("post")).toHaveCount(0);
  });

  await test.step("Ann signs out and in again", async () => {
    await ann.getByTestId("sign-out").click();
    await expect(ann.getByTestId("notice-signed-out")).toBeVisible();
    await ann.getByLabel("Handle").fill(annHandle);
    await ann.getByLabel("Password").fill(`pass-${annHandle}`);
    await ann.getByTestId("sign-in").click();
    await expect(ann.getByTestId("composer")).toBeVisible();
  });
});
