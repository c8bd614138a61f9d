import { Icon } from "../parts/Icon";

interface NewPostsPillProps {
  waiting: number;
  outdated: boolean;
  onShow: () => void;
}

function describe(waiting: number): string {
  if (waiting === 0) return "Refresh your timeline";
  return waiting === 1 ? "1 new post" : `${waiting} new posts`;
}

/** Offers what has arrived without moving what is being read; announced to screen readers. */
export function NewPostsPill({ waiting, outdated, onShow }: NewPostsPillProps) {
  return (
    <div className="pill-place" aria-live="polite">
      {(waiting > 0 || outdated) && (
        <button type="button" className="pill" onClick={onShow} data-testid="new-posts">
          <Icon name="arrowUp" /> {describe(waiting)}
        </button>
      )}
    </div>
  );
}
