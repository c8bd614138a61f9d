// A person's picture, or their initial on a colour that their handle decides.
import { useState } from "react";

interface AvatarProps {
  handle: string;
  name: string;
  avatarUrl: string | null;
  large?: boolean;
}

function hueOf(handle: string): number {
  let hue = 0;
  for (const character of handle) hue = (hue * 31 + (character.codePointAt(0) ?? 0)) % 360;
  return hue;
}

export function Avatar({ handle, name, avatarUrl, large = false }: AvatarProps) {
  const [broken, setBroken] = useState(false);
  const className = large ? "avatar large" : "avatar";
  if (avatarUrl !== null && !broken) {
    return <img className={className} src={avatarUrl} alt="" loading="lazy" onError={() => { setBroken(true); }} />;
  }
  const [initial = "?"] = name.trim() || handle;
  return (
    <span className={className} aria-hidden="true" style={{ backgroundColor: `oklch(0.52 0.1 ${hueOf(handle)})` }}>{initial.toUpperCase()}</span>
  );
}
