// The documents of a session: all that a page needs which only signs in.

export const ERRORS = "userErrors { message code field }";
const TOKENS = `token expiresAt refreshToken ${ERRORS}`;

export const input = (operation: string, field: string, type: string, selection: string) =>
  `mutation ${operation}($input: ${type}!) { ${field}(input: $input) { ${selection} } }`;

export const credentials = {
  registerUser: input("Register", "registerUser", "RegisterUserInput", TOKENS),
  signIn: input("SignIn", "signIn", "SignInInput", `${TOKENS} retryAt`),
  refreshToken: input("Refresh", "refreshToken", "RefreshTokenInput", TOKENS),
  signOut: "mutation SignOut { signOut { endedSessionCount } }",
  signOutEverywhere: "mutation SignOutEverywhere { signOutEverywhere { endedSessionCount } }",
  deleteViewer: input("DeleteViewer", "deleteViewer", "DeleteViewerInput", `retryAt ${ERRORS}`),
};
