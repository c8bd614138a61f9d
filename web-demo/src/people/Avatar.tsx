// A person's picture. Who has none gets a piece of coast of their own: sky, sun and three tides, all decided by their id.
import { useState } from "react";
import { coastOf } from "./coast";

interface AvatarProps {
  id: string;
  avatarUrl: string | null;
  large?: boolean;
}

function wave(level: number, height: number, shift: number): string {
  const at = level - height;
  return `M${-20 - shift} ${level}c10-${height * 2} 20-${height * 2} 30 0s20 ${height * 2} 30 0 20-${height * 2} 30 0 20 ${height * 2} 30 0 20-${height * 2} 30 0V64H${-20 - shift}Z M0 ${at}`;
}

function Coast({ id }: { id: string }) {
  const { bits, sky, sun, isNight, water } = coastOf(id);
  const [x, y, size] = [14 + bits(3, 37), 15 + bits(9, 15), 6 + bits(5, 6)];
  const tide = 35 + bits(13, 10);
  return (
    <svg viewBox="0 0 64 64" aria-hidden="true" preserveAspectRatio="xMidYMid slice">
      <rect width="64" height="64" fill={isNight ? `oklch(0.38 0.07 ${sky})` : `oklch(0.83 0.09 ${sky})`} />
      <circle cx={x} cy={y} r={size} fill={isNight ? "oklch(0.95 0.03 95)" : `oklch(0.93 0.1 ${sun})`} />
      {isNight && <circle cx={x + size * 0.5} cy={y - size * 0.25} r={size * 0.86} fill={`oklch(0.38 0.07 ${sky})`} />}
      <path d={wave(tide, 3, bits(15, 20))} fill={`oklch(${isNight ? 0.55 : 0.7} 0.11 ${water})`} />
      <path d={wave(tide + 9, 3.5, bits(18, 20))} fill={`oklch(${isNight ? 0.46 : 0.59} 0.12 ${water})`} />
      <path d={wave(tide + 18, 4, bits(21, 20))} fill={`oklch(${isNight ? 0.36 : 0.47} 0.11 ${water})`} />
    </svg>
  );
}

export function Avatar({ id, avatarUrl, large = false }: AvatarProps) {
  const [broken, setBroken] = useState(false);
  const className = large ? "avatar large" : "avatar";
  if (avatarUrl !== null && !broken) {
    return <img className={className} src={avatarUrl} alt="" loading="lazy" onError={() => { setBroken(true); }} />;
  }
  return <span className={className} aria-hidden="true" data-testid="generated-avatar"><Coast id={id} /></span>;
}
