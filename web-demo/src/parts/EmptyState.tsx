import type { ReactNode } from "react";

interface EmptyStateProps {
  title: string;
  testId: string;
  /** h1 where this is all that the page has. */
  heading?: "h1" | "h2";
  children: ReactNode;
}

/** Says why there is nothing here, and (in its children) what to do next. */
export function EmptyState({ title, testId, heading: Heading = "h2", children }: EmptyStateProps) {
  return (
    <section className="empty card" data-testid={testId}>
      <svg className="empty-art" viewBox="0 0 160 72" aria-hidden="true">
        <circle cx="112" cy="22" r="12" />
        <path d="M8 40c18-14 36-14 54 0s36 14 54 0 27-12 36-6" />
        <path d="M8 52c18-14 36-14 54 0s36 14 54 0 27-12 36-6" opacity=".5" />
      </svg>
      <Heading>{title}</Heading>
      {children}
    </section>
  );
}
