// The documents of a session: all that a page needs which only signs in.

export const ERRORS = "userErrors { message code field }";
const TOKENS = `token expiresAt refreshToken ${ERRORS}`;

/** The mutation `field`: its name is also the operation's, and that of its input's type. */
export const input = (field: string, selection: string) =>
  `mutation ${field}($input: ${field.replace(/^./, (first) => first.toUpperCase())}Input!) { ${field}(input: $input) { ${selection} } }`;

export const credentials = {
  registerUser: input("registerUser", TOKENS),
  signIn: input("signIn", `${TOKENS} retryAt`),
  refreshToken: input("refreshToken", TOKENS),
  signOut: "mutation SignOut { signOut { endedSessionCount } }",
  signOutEverywhere: "mutation SignOutEverywhere { signOutEverywhere { endedSessionCount } }",
  deleteViewer: input("deleteViewer", `retryAt ${ERRORS}`),
};
