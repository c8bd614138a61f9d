import { EmptyState } from "../parts/EmptyState";
import { profilePath } from "../routing";

function focusFindBox() {
  document.querySelector<HTMLInputElement>(".find-input")?.focus();
}

export function EmptyTimeline() {
  return (
    <EmptyState title="Calm waters" testId="empty-timeline">
      <p>
        Your timeline shows what the people you follow publish. <button type="button" className="link" onClick={focusFindBox}>Find
        someone by their handle</button> and follow them, look at <a href={profilePath("demo")}>@demo</a>, or write your first post above.
      </p>
    </EmptyState>
  );
}
