import { describeFailure } from "../api/userErrors";

interface ErrorNoticeProps {
  title: string;
  error: unknown;
  onRetry: () => void;
}

/** A request that failed as a whole, and the way to try it again. */
export function ErrorNotice({ title, error, onRetry }: ErrorNoticeProps) {
  return (
    <section className="failure card" role="alert" data-testid="failure">
      <h2>{title}</h2>
      <p>{describeFailure(error)}</p>
      <button type="button" className="button" onClick={onRetry} data-testid="retry">Try again</button>
    </section>
  );
}
