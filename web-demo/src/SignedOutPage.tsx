// The frame around what anybody may read, for who is not signed in.
import type { ReactNode } from "react";
import { Brand } from "./parts/Brand";
import { Notices } from "./parts/Notices";
import { SkipLink } from "./parts/SkipLink";
import { signInPath, timelinePath } from "./routing";
import { ConnectionNotice } from "./timeline/ConnectionNotice";

export function SignedOutPage({ children }: { children: ReactNode }) {
  return (
    <div className="frame guest">
      <SkipLink />
      <header className="bar">
        <a className="bar-brand" href={timelinePath} aria-label="Tidefeed, the start page"><Brand /></a>
        <a className="button" href={signInPath} data-testid="to-sign-in">Sign in</a>
      </header>
      <main id="main" tabIndex={-1} className="column">{children}</main>
      <div className="notices">
        <Notices />
        <ConnectionNotice />
      </div>
    </div>
  );
}
