import type { TimelineList } from "../api/timelineLists";
import { LIST_NAMES } from "../content/KindTabs";
import { EmptyState } from "../parts/EmptyState";
import { explorePath, timelinePath } from "../routing";
import { openComposer } from "./composing";

export function EmptyTimeline({ list }: { list: TimelineList }) {
  if (list !== "EVERYTHING") {
    return (
      <EmptyState title={`No ${LIST_NAMES[list].toLowerCase()} yet`} testId="empty-list">
        <p>Neither you nor anyone you follow has published any. <a href={timelinePath}>See everything</a> instead.</p>
      </EmptyState>
    );
  }
  return (
    <EmptyState title="Nothing here yet" testId="empty-timeline">
      <p>
        Your timeline shows what the people you follow publish. <a href={explorePath}>Find someone by name or handle</a> and follow
        them, or <button type="button" className="link" onClick={openComposer}>write your first post</button>.
      </p>
    </EmptyState>
  );
}
