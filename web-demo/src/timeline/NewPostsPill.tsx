import { Icon } from "../parts/Icon";
import { countOf } from "../parts/numbers";

interface NewPostsPillProps {
  waiting: number;
  andMore: boolean;
  outdated: boolean;
  onShow: () => void;
}

function describe(waiting: number, andMore: boolean): string {
  if (waiting === 0) return "Refresh your timeline";
  return waiting === 1 && !andMore ? "1 new post" : `${countOf(waiting, andMore)} new posts`;
}

/** Offers what has arrived without moving what is being read; announced to screen readers. */
export function NewPostsPill({ waiting, andMore, outdated, onShow }: NewPostsPillProps) {
  return (
    <div className="pill-place" aria-live="polite">
      {(waiting > 0 || outdated) && (
        <button type="button" className="pill" onClick={onShow} data-testid="new-posts">
          <Icon name="arrowUp" /> {describe(waiting, andMore)}
        </button>
      )}
    </div>
  );
}
