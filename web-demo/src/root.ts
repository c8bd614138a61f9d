// Where the server is: above the page, which may be deep below it. A proxy may serve all of it below a path.
const said = document.querySelector<HTMLMetaElement>("meta[name=tidefeed-root]");

/** Whether the server has a page at each path of the app. */
export const hasPaths = said !== null;

export const root = new URL(said?.content ?? ".", window.location.href);

/** The address of something of the server's. `path`: without a slash at its beginning. */
export const fromRoot = (path: string): string => `${root.pathname}${path}`;
