import type { CardFragment } from "../gql/graphql";

type Media = CardFragment["media"][number];

function MediaItem({ media }: { media: Media }) {
  // Known sizes keep the page from jumping when the picture comes in.
  const shape = media.width !== null && media.height !== null ? { aspectRatio: media.width / media.height } : undefined;
  if (media.kind === "VIDEO") return <video style={shape} src={media.url} aria-label={media.alt} controls preload="metadata" />;
  return <img style={shape} src={media.url} alt={media.alt} title={media.alt} loading="lazy" data-testid="post-picture" />;
}

export function MediaGallery({ media }: { media: readonly Media[] }) {
  if (media.length === 0) return null;
  return (
    <div className={media.length === 1 ? "gallery" : "gallery several"}>
      {media.map((item, index) => <MediaItem key={`${index} ${item.url}`} media={item} />)}
    </div>
  );
}
