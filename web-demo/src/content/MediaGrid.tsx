// Pictures and videos, in a grid whose shape is known before anything has loaded. A picture opens in full.
import type { Media } from "@tidefeed/client";
import { useRef, useState } from "react";
import { Icon } from "../parts/Icon";
import { pictureFrom, posterOf } from "./pictures";

/** One by itself keeps its shape within these; several are cut to the grid's. */
const [TALLEST, WIDEST] = [4 / 5, 2];
const UNKNOWN = 16 / 10;

function shapeOf({ width, height }: Media): number {
  if (width === null || height === null) return UNKNOWN;
  return Math.min(WIDEST, Math.max(TALLEST, width / height));
}

function Picture({ media }: { media: Media }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [isBroken, setIsBroken] = useState(false);
  if (isBroken) return <p className="media-broken muted"><Icon name="picture" /> {media.alt === "" ? "This picture is not there any more." : media.alt}</p>;
  return (
    <>
      <button type="button" className="media-open" aria-label={media.alt === "" ? "Open the picture" : `Open the picture: ${media.alt}`} onClick={() => { dialog.current?.showModal(); }}>
        <img src={pictureFrom(media.url)} alt={media.alt} loading="lazy" decoding="async" onError={() => { setIsBroken(true); }} data-testid="post-picture" />
      </button>
      {media.alt !== "" && <span className="media-alt" title={media.alt} aria-hidden="true">ALT</span>}
      <dialog ref={dialog} className="media-full" aria-label="Picture" onClick={() => { dialog.current?.close(); }}>
        <button type="button" className="icon-button" aria-label="Close"><Icon name="cross" /></button>
        <img src={pictureFrom(media.url)} alt={media.alt} loading="lazy" />
        {media.alt !== "" && <p>{media.alt}</p>}
      </dialog>
    </>
  );
}

export function MediaGrid({ media }: { media: readonly Media[] }) {
  const [first] = media;
  if (first === undefined) return null;
  return (
    <div className="media" data-count={Math.min(media.length, 5)} style={media.length === 1 ? { aspectRatio: shapeOf(first) } : undefined}>
      {media.map((one, index) => (
        <div key={`${index} ${one.url}`} className="media-item">
          {one.kind === "VIDEO" ? <video src={pictureFrom(one.url)} poster={posterOf(one.url)} aria-label={one.alt} title={one.alt} controls playsInline preload="metadata" /> : <Picture media={one} />}
        </div>
      ))}
    </div>
  );
}
