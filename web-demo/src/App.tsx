// Chooses between the page of whoever is signed in and that of everybody else.
import { TidefeedProvider, useSession } from "@tidefeed/react";
import { SignedInPage } from "./SignedInPage";
import { WelcomePage } from "./account/WelcomePage";
import { tidefeed } from "./api/tidefeed";

function Page() {
  const { signedIn } = useSession();
  return signedIn ? <SignedInPage /> : <WelcomePage />;
}

export function App() {
  return <TidefeedProvider client={tidefeed}><Page /></TidefeedProvider>;
}
