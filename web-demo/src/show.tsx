// Puts the root component into the page.
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./App";

/** The title that the server has given the page stays until the app has its own. */
function giveWayToOwnTitle() {
  new MutationObserver((_, observer) => {
    if (document.querySelectorAll("head > title").length < 2) return;
    document.querySelector("title[data-page]")?.remove();
    observer.disconnect();
  }).observe(document.head, { childList: true });
}

export function show() {
  const root = document.getElementById("root");
  if (root === null) throw new Error("index.html has no element with the id root");
  giveWayToOwnTitle();
  createRoot(root).render(<StrictMode><App /></StrictMode>);
}
