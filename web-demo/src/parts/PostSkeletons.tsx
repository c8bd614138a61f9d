interface PostSkeletonsProps {
  count: number;
  label: string;
}

/** Grey outlines where posts will stand. */
export function PostSkeletons({ count, label }: PostSkeletonsProps) {
  return (
    <div role="status" className="feed" aria-label={label} data-testid="skeletons">
      {Array.from({ length: count }, (_, index) => (
        <div key={index} className="post skeleton" aria-hidden="true">
          <span className="avatar shimmer" />
          <div className="post-body">
            <span className="shimmer line short" />
            <span className="shimmer line" />
            <span className="shimmer line half" />
          </div>
        </div>
      ))}
    </div>
  );
}
