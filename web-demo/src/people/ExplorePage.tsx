// Whom one may follow; the box in the header finds everybody else.
import { PageHead } from "../parts/PageHead";
import { SomePeople } from "./SomePeople";

export function ExplorePage() {
  return (
    <>
      <title>Explore · Tidefeed</title>
      <PageHead title="Explore" />
      <p className="muted">Search for people and posts in the box at the top, or begin with these.</p>
      <SomePeople />
    </>
  );
}
