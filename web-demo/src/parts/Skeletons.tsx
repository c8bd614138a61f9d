import type { ReactNode } from "react";

interface SkeletonsProps {
  count: number;
  label: string;
}

interface OutlinesProps extends SkeletonsProps {
  row: string;
  testId: string;
  children: ReactNode;
}

/** Grey outlines of rows that will stand here. */
function Outlines({ count, label, row, testId, children }: OutlinesProps) {
  return (
    <div role="status" className="feed" aria-label={label} data-testid={testId}>
      {Array.from({ length: count }, (_, index) => (
        <div key={index} className={`${row} skeleton`} aria-hidden="true">
          <span className="avatar shimmer" />
          {children}
        </div>
      ))}
    </div>
  );
}

/** Where posts will stand. */
export function PostSkeletons(props: SkeletonsProps) {
  return (
    <Outlines {...props} row="post" testId="skeletons">
      <div className="post-body">
        <span className="shimmer line short" />
        <span className="shimmer line" />
        <span className="shimmer line half" />
      </div>
    </Outlines>
  );
}

/** Where people will stand. */
export function PeopleSkeletons(props: SkeletonsProps) {
  return (
    <Outlines {...props} row="person-row" testId="people-skeletons">
      <span className="shimmer line half" />
    </Outlines>
  );
}
