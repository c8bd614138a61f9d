// A person's picture. Who has none, or one that does not load, gets a piece of coast of their own, which the server draws.
import { useState } from "react";
import { avatarOf, pictureFrom } from "../content/pictures";

interface AvatarProps {
  id: string;
  avatarUrl: string | null;
  large?: boolean;
}

export function Avatar({ id, avatarUrl, large = false }: AvatarProps) {
  const [broken, setBroken] = useState<string | null>(null);
  const isDrawn = avatarUrl === null || avatarUrl === broken;
  const pixels = large ? 88 : 44;
  return (
    <img className={large ? "avatar large" : "avatar"} src={isDrawn ? avatarOf(id) : pictureFrom(avatarUrl)} alt="" width={pixels} height={pixels}
      loading="lazy" decoding="async" fetchPriority="low" onError={() => { setBroken(avatarUrl); }} data-testid={isDrawn ? "generated-avatar" : "avatar"} />
  );
}
