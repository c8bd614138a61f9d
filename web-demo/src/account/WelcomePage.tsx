// What someone who is not signed in sees: what this is, and the two ways in.
import { useState } from "react";
import { fromRoot } from "../root";
import { Brand } from "../parts/Brand";
import { useSession } from "@tidefeed/react";
import { Glimpse } from "./Glimpse";
import { SignInForm } from "./SignInForm";
import { SignUpForm } from "./SignUpForm";

const NOTICES = {
  "expired": "Your session has expired. Sign in again to go on.",
  "signed-out": "You have signed out.",
  "deleted": "Your account is deleted. Nobody sees anything of it any more.",
} as const;

export function WelcomePage() {
  const { ended } = useSession();
  const [joining, setJoining] = useState(false);
  return (
    <div className="welcome">
      <title>Tidefeed</title>
      <header className="hero">
        <Brand />
        <h1>Everyone you follow, <em>nothing missed.</em></h1>
        <p>A timeline that is exactly what the people you follow have published: newest first, live as it happens, as deep as you scroll.</p>
      </header>
      <svg className="waves" viewBox="0 0 1200 200" preserveAspectRatio="none" aria-hidden="true">
        <path d="M0 90c150-60 300-60 450 0s300 60 450 0 225-52 300-40v150H0Z" />
        <path d="M0 130c150-60 300-60 450 0s300 60 450 0 225-52 300-40v110H0Z" />
        <path d="M0 165c150-50 300-50 450 0s300 50 450 0 225-42 300-30v65H0Z" />
      </svg>
      <main className="welcome-forms">
        {ended !== null && <p className="notice" role="status" data-testid={`notice-${ended}`}>{NOTICES[ended]}</p>}
        <h2>{joining ? "Create your account" : ended === null ? "Welcome" : "Welcome back"}</h2>
        {joining ? <SignUpForm /> : <SignInForm />}
        <p className="switch">
          {joining ? "Already here?" : "New here?"}{" "}
          <button type="button" className="link" onClick={() => { setJoining(!joining); }} data-testid="switch-form">
            {joining ? "Sign in" : "Create an account"}
          </button>
        </p>
        <p className="switch"><a href={fromRoot("graphiql/")}>Explore the API in GraphiQL</a></p>
      </main>
      <Glimpse />
    </div>
  );
}
