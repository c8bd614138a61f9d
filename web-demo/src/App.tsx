// Chooses between the page of whoever is signed in and that of everybody else.
import { TidefeedProvider, useSession } from "@tidefeed/react";
import { useEffect } from "react";
import { readablePage } from "./ReadablePage";
import { SignedInPage } from "./SignedInPage";
import { SignedOutPage } from "./SignedOutPage";
import { WelcomePage } from "./account/WelcomePage";
import { tidefeed } from "./api/tidefeed";
import { goBack, useRoute } from "./routing";

function Page() {
  const { signedIn, ended } = useSession();
  const route = useRoute();
  const isDone = signedIn && route.page === "signIn";
  // Back to what was being read.
  useEffect(() => { if (isDone) goBack(); }, [isDone]);
  if (signedIn) return isDone ? null : <SignedInPage route={route} />;
  const readable = ended === null ? readablePage(route) : null;
  return readable === null ? <WelcomePage /> : <SignedOutPage>{readable}</SignedOutPage>;
}

export function App() {
  return <TidefeedProvider client={tidefeed}><Page /></TidefeedProvider>;
}
