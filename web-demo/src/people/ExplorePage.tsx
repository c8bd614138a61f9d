// Where to look for people and posts, and some to begin with.
import { PageHead } from "../parts/PageHead";
import { FindUser } from "./FindUser";
import { SomePeople } from "./SomePeople";

export function ExplorePage() {
  return (
    <>
      <title>Explore · Tidefeed</title>
      <PageHead title="Explore" />
      <FindUser />
      <SomePeople />
    </>
  );
}
