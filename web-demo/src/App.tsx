// Chooses between the welcome page and the signed-in page; each session gets an API client of its own.
import { ApolloProvider } from "@apollo/client/react";
import { useMemo } from "react";
import { SignedInPage } from "./SignedInPage";
import { WelcomePage } from "./account/WelcomePage";
import { createApi } from "./api/client";
import { endSession, type Session, useSession } from "./session";

function SessionScope({ session }: { session: Session | null }) {
  const api = useMemo(() => createApi(session, () => { endSession("expired"); }), [session]);
  return (
    <ApolloProvider client={api.apollo}>
      {session === null ? <WelcomePage /> : <SignedInPage session={session} connection={api.connection} />}
    </ApolloProvider>
  );
}

export function App() {
  const { session } = useSession();
  return <SessionScope key={session?.token ?? "anonymous"} session={session} />;
}
