import { Icon } from "../parts/Icon";
import { countOf } from "../parts/numbers";

interface NewPostsPillProps {
  waiting: number;
  onShow: () => void;
}

/** Offers what has arrived without moving what is being read: in a place that is kept for it. Announced to screen readers. */
export function NewPostsPill({ waiting, onShow }: NewPostsPillProps) {
  return (
    <div className="pill-place" aria-live="polite">
      {waiting > 0 && (
        <button type="button" className="pill" onClick={onShow} data-testid="new-posts">
          <Icon name="arrowUp" /> <span>{waiting === 1 ? "1 new post" : `${countOf(waiting)} new posts`}</span>
        </button>
      )}
    </div>
  );
}
