// A person's picture. Who has none, or one that does not load, gets a piece of coast of their own, which a server with the
// demo draws; any other server has none, and a plain disc stands there.
import { useState } from "react";
import { avatarOf, pictureFrom } from "../content/pictures";

interface AvatarProps {
  id: string;
  avatarUrl: string | null;
  large?: boolean;
}

export function Avatar({ id, avatarUrl, large = false }: AvatarProps) {
  const [broken, setBroken] = useState<string | null>(null);
  const [missing, setMissing] = useState<string | null>(null);
  const isDrawn = avatarUrl === null || avatarUrl === broken;
  const drawing = avatarOf(id);
  const pixels = large ? 88 : 44;
  const className = large ? "avatar large" : "avatar";
  if (isDrawn && missing === drawing) return <span className={className} data-testid="no-avatar" />;
  return (
    <img className={className} src={isDrawn ? drawing : pictureFrom(avatarUrl)} alt="" width={pixels} height={pixels}
      loading="lazy" decoding="async" fetchPriority="low" onError={() => { if (isDrawn) setMissing(drawing); else setBroken(avatarUrl); }} data-testid={isDrawn ? "generated-avatar" : "avatar"} />
  );
}
