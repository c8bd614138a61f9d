import type { TimelineList } from "../api/timelineLists";
import { EmptyState } from "../parts/EmptyState";
import { profilePath, timelinePath } from "../routing";
import { LIST_NAMES } from "./TimelineTabs";

function focusFindBox() {
  document.querySelector<HTMLInputElement>(".find-input")?.focus();
}

export function EmptyTimeline({ list }: { list: TimelineList }) {
  if (list !== "EVERYTHING") {
    return (
      <EmptyState title={`No ${LIST_NAMES[list].toLowerCase()} yet`} testId="empty-list">
        <p>Neither you nor anyone you follow has published any. <a href={timelinePath}>See everything</a> instead.</p>
      </EmptyState>
    );
  }
  return (
    <EmptyState title="Calm waters" testId="empty-timeline">
      <p>
        Your timeline shows what the people you follow publish. <button type="button" className="link" onClick={focusFindBox}>Find
        someone by their handle</button> and follow them, look at <a href={profilePath("demo")}>@demo</a>, or write your first post above.
      </p>
    </EmptyState>
  );
}
