// End-to-end tests against a running server (TIDEFEED_URL), with the system's Chromium (CHROMIUM); no browser is downloaded.
import { defineConfig } from "@playwright/test";

const server = process.env.TIDEFEED_URL;
if (server === undefined) {
  throw new Error("TIDEFEED_URL is not set. Start a server and name it: TIDEFEED_URL=http://127.0.0.1:8080 npm run e2e");
}

export default defineConfig({
  testDir: "e2e",
  outputDir: "test-results",
  workers: 1,
  forbidOnly: true,
  // Who works on the page sees a failure at once; CI tells a test that fails always from one that failed once, and names both.
  retries: process.env.CI === undefined ? 0 : 1,
  timeout: 60_000,
  expect: { timeout: 10_000 },
  reporter: [["list"]],
  use: {
    baseURL: server,
    headless: true,
    locale: "en-GB",
    screenshot: "only-on-failure",
    launchOptions: {
      executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
      args: [
        "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
        // A container's /dev/shm is small: a page that outgrows it dies.
        "--disable-dev-shm-usage",
      ],
    },
  },
});
