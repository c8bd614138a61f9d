import { Icon } from "../parts/Icon";
import { countOf } from "../parts/numbers";

interface NewPostsPillProps {
  waiting: number;
  /** What they are: one, and several. */
  names?: readonly [string, string];
  /** Whether they come at the end. */
  isBelow?: boolean;
  onShow: () => void;
}

/** Offers what has arrived without moving what is being read: in a place that is kept for it. Announced to screen readers. */
export function NewPostsPill({ waiting, names: [one, several] = ["new post", "new posts"], isBelow = false, onShow }: NewPostsPillProps) {
  return (
    <div className="pill-place" aria-live="polite">
      {waiting > 0 && (
        <button type="button" className="pill" onClick={onShow} data-testid="new-posts">
          <Icon name={isBelow ? "arrowDown" : "arrowUp"} /> <span>{waiting === 1 ? `1 ${one}` : `${countOf(waiting)} ${several}`}</span>
        </button>
      )}
    </div>
  );
}
