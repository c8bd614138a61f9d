// What those have published whom the demo account follows, to be looked at without an account; nothing on a server without that account.
import { GlimpseDocument } from "../api/glimpseDocuments";
import { useRead } from "../api/useRead";
import { pictureFrom } from "../content/pictures";
import type { GlimpseQuery } from "../gql/graphql";
import { counted } from "../parts/numbers";
import { RelativeTime } from "../parts/RelativeTime";
import { Avatar } from "../people/Avatar";
import { DEMO } from "./demo";

const SHOWN = 12;

type Followed = NonNullable<NonNullable<NonNullable<NonNullable<GlimpseQuery["user"]>["following"]>["nodes"]>[number]>;
type Post = NonNullable<NonNullable<NonNullable<Followed["contents"]>["nodes"]>[number]>;

/** The newest posts first, of whomever. */
function newest(data: GlimpseQuery | null): { author: Followed; post: Post }[] {
  const authors = (data?.user?.following?.nodes ?? []).flatMap((author) => author ?? []);
  const posts = authors.flatMap((author) => (author.contents?.nodes ?? []).flatMap((post) => (post === null ? [] : { author, post })));
  return posts.sort((a, b) => Date.parse(b.post.createdAt) - Date.parse(a.post.createdAt)).slice(0, SHOWN);
}

function GlimpsePost({ author, post: { text, createdAt, media, likeCount, replyCount } }: { author: Followed; post: Post }) {
  const picture = media.find(({ kind }) => kind === "PICTURE");
  const told = [
    ...(likeCount !== null && likeCount > 0 ? [counted(likeCount, "like", "likes")] : []),
    ...(replyCount !== null && replyCount > 0 ? [counted(replyCount, "reply", "replies")] : []),
  ];
  return (
    <li className="glimpse-post" data-testid="glimpse-post">
      <Avatar {...author} />
      <div>
        <p className="glimpse-by">
          <strong><bdi>{author.name}</bdi></strong> <span>@{author.handle}</span> <RelativeTime iso={createdAt} />
        </p>
        {text !== "" && <p className="glimpse-text" dir="auto">{text}</p>}
        {picture !== undefined && <img src={pictureFrom(picture.url)} alt={picture.alt} width={picture.width ?? 640} height={picture.height ?? 400} loading="lazy" decoding="async" />}
        {told.length > 0 && <p className="glimpse-counts">{told.join(" · ")}</p>}
      </div>
    </li>
  );
}

/** Takes the place that is kept for it, so that nothing moves when it is there. */
export function Glimpse() {
  const { data } = useRead(GlimpseDocument, { handle: DEMO.handle });
  const posts = newest(data);
  if (posts.length === 0) return null;
  return (
    <section className="glimpse" aria-labelledby="glimpse-title" data-testid="glimpse">
      <h2 id="glimpse-title">From people whom the demo follows</h2>
      <ul>{posts.map((one) => <GlimpsePost key={one.post.id} {...one} />)}</ul>
    </section>
  );
}
