// Whom one may follow; the box in the header, which is there for who is signed in, finds everybody else.
import { useSession } from "@tidefeed/react";
import { PageHead } from "../parts/PageHead";
import { SomePeople } from "./SomePeople";

export function ExplorePage() {
  const { signedIn } = useSession();
  return (
    <>
      <title>Explore · Tidefeed</title>
      <PageHead title="Explore" />
      <p className="muted">{signedIn ? "Search for people and posts in the box at the top, or begin with these." : "The most followed people here."}</p>
      <SomePeople />
    </>
  );
}
