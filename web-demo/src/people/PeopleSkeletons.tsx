interface PeopleSkeletonsProps {
  count: number;
  label: string;
}

/** Grey outlines where people will stand. */
export function PeopleSkeletons({ count, label }: PeopleSkeletonsProps) {
  return (
    <div role="status" className="feed" aria-label={label} data-testid="people-skeletons">
      {Array.from({ length: count }, (_, index) => (
        <div key={index} className="person-row skeleton" aria-hidden="true">
          <span className="avatar shimmer" />
          <span className="shimmer line half" />
        </div>
      ))}
    </div>
  );
}
