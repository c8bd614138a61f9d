/** What `tidefeed seed` links to: pictures that every node draws, the same on each of them. */
const DRAWN = /^http:\/\/[^/]+(\/pictures\/\d+\.svg)$/;

/**
 * Where the page loads a picture from. The links of the seeded world name the address on which the server listens; who has come to the page by another name, or
 * through a proxy, gets them from there. The page shows no other picture of plain http that is not this server's.
 */
export const pictureFrom = (url: string): string => DRAWN.exec(url)?.[1] ?? url;
