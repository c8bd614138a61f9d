// End-to-end tests against a running server (TIDEFEED_URL), with the system's Chromium (CHROMIUM); no browser is downloaded.
import { defineConfig } from "@playwright/test";

const server = process.env.TIDEFEED_URL;
if (server === undefined) {
  throw new Error("TIDEFEED_URL is not set. Start a server and name it: TIDEFEED_URL=http://127.0.0.1:8080 npm run e2e");
}

export default defineConfig({
  testDir: "e2e",
  outputDir: "test-results",
  // Files run beside each other, on one server: each test has people of its own. A test that fails now and then is a defect, and never tried again.
  workers: 2,
  forbidOnly: true,
  retries: 0,
  // Longer than anything takes on a machine whose other tests flood servers meanwhile. Nothing waits for it that goes well.
  timeout: 180_000,
  expect: { timeout: 30_000 },
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
