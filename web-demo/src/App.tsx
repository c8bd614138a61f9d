// Chooses between the welcome page and the signed-in page; each user gets an API client of their own, which outlives a refresh of the tokens.
import { ApolloProvider } from "@apollo/client/react";
import { useMemo } from "react";
import { SignedInPage } from "./SignedInPage";
import { WelcomePage } from "./account/WelcomePage";
import { createApi } from "./api/client";
import { endSession, type Session, useSession } from "./session";

function SessionScope({ session }: { session: Session | null }) {
  const signedIn = session !== null;
  const api = useMemo(() => createApi(signedIn, () => { endSession("expired"); }), [signedIn]);
  return (
    <ApolloProvider client={api.apollo}>
      {session === null ? <WelcomePage /> : <SignedInPage session={session} connection={api.connection} />}
    </ApolloProvider>
  );
}

export function App() {
  const { session } = useSession();
  return <SessionScope key={session?.handle ?? "anonymous"} session={session} />;
}
