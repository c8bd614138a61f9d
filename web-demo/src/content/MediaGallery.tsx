import type { PostFragment } from "../gql/graphql";

type Media = PostFragment["media"][number];

function MediaItem({ media }: { media: Media }) {
  const size = { width: media.width ?? undefined, height: media.height ?? undefined };
  if (media.kind === "VIDEO") return <video {...size} src={media.url} aria-label={media.alt} controls preload="metadata" />;
  return <img {...size} src={media.url} alt={media.alt} title={media.alt} loading="lazy" data-testid="post-picture" />;
}

export function MediaGallery({ media }: { media: readonly Media[] }) {
  if (media.length === 0) return null;
  return (
    <div className={media.length === 1 ? "gallery" : "gallery several"}>
      {media.map((item, index) => <MediaItem key={`${index} ${item.url}`} media={item} />)}
    </div>
  );
}
