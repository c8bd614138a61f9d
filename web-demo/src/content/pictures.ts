// Where pictures come from.
import { fromRoot } from "../root";

/** What `tidefeed seed` links to: what every node with the demo draws, and its clip, the same on each of them. */
const DRAWN = /^http:\/\/[^/]+\/((?:pictures|portraits|avatars)\/[\w-]+\.svg|clips\/[\w-]+\.webm)$/;

/**
 * Where the page loads a picture from. The links of the seeded world name the address on which the server listens; who has come to the page by another name, or
 * through a proxy, gets them from there. The page shows no other picture of plain http that is not this server's.
 */
export const pictureFrom = (url: string): string => url.replace(DRAWN, (_, path: string) => fromRoot(path));

/** What is shown of a video before it plays: the first frame of the seeded world's clip; of others their browser shows what it likes. */
export const posterOf = (url: string): string | undefined => (DRAWN.test(url) ? pictureFrom(url).replace(/\.webm$/, ".jpg") : undefined);

export const isDrawn = (url: string) => DRAWN.test(url);

/** The face that a server with the demo draws for a user; somebody who is not known any more has nobody's. */
export const avatarOf = (id: string): string => fromRoot(`avatars/${id === "" ? "nobody" : id}.svg`);

/** The banner that goes with it. */
export const bannerOf = (id: string): string => fromRoot(`banners/${id}.svg`);
