/** The account of every seeded world (`tidefeed seed`). */
export const DEMO = { handle: "demo", password: "demo-tidefeed" };
