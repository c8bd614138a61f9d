// The coast that belongs to a person, decided by their id: the hues of its sky, sun and water, and whether it is night there.
import type { CSSProperties } from "react";

/** FNV-1a, mixed once more: 32 bits that are far apart for ids that are close together. */
function hashOf(id: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < id.length; index += 1) hash = Math.imul(hash ^ id.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x45d9f3b);
  return (hash ^ (hash >>> 15)) >>> 0;
}

/** Sky, sun, and the water from far to near: each pair of hues goes together. */
const SKIES = [
  [205, 45], [28, 12], [265, 70], [160, 50], [335, 40], [190, 330], [48, 20], [225, 90], [300, 55], [175, 25], [15, 60], [245, 340],
] as const;

export interface Coast {
  /** A number below `count`, out of the bits from `from` on. */
  bits: (from: number, count: number) => number;
  sky: number;
  sun: number;
  water: number;
  isNight: boolean;
}

export function coastOf(id: string): Coast {
  const hash = hashOf(id);
  const bits = (from: number, count: number) => (hash >>> from) % count;
  const [sky, sun] = SKIES[bits(0, SKIES.length)] ?? SKIES[0];
  return { bits, sky, sun, water: (sky + 150 + bits(11, 80)) % 360, isNight: bits(7, 4) === 0 };
}

/** The banner above a profile: the same sky, sun and water. */
export function bannerOf(id: string): CSSProperties {
  const { sky, sun, water, isNight } = coastOf(id);
  const [light, high, deep] = isNight ? [0.8, 0.4, 0.25] : [0.9, 0.75, 0.45];
  return {
    background: `radial-gradient(120% 160% at 85% 0%, oklch(${light} 0.1 ${isNight ? 95 : sun} / 75%), transparent 45%), linear-gradient(160deg, oklch(${high} 0.09 ${sky}), oklch(${deep} 0.1 ${water}))`,
  };
}
