import type { CardFragment } from "../gql/graphql";

const compact = new Intl.NumberFormat("en", { notation: "compact" });

function count(value: number, one: string, many: string): string | null {
  return value === 0 ? null : `${compact.format(value)} ${value === 1 ? one : many}`;
}

/** How often others answered a post or passed it on; nothing where all counts are zero or not available. */
export function PostCounters({ counters }: { counters: CardFragment["counters"] }) {
  if (counters === null) return null;
  const counts = [
    count(counters.comments, "comment", "comments"),
    count(counters.reposts, "repost", "reposts"),
  ].filter((text) => text !== null);
  return counts.length === 0 ? null : <span className="muted">{counts.join(" · ")}</span>;
}
