import { type ReactNode, useEffect, useRef } from "react";

interface PageHeadProps {
  title: string;
  children?: ReactNode;
}

/** A page's heading. It takes the focus if the link that led here has gone, so that the keyboard goes on from the top. */
export function PageHead({ title, children }: PageHeadProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (document.activeElement === document.body) heading.current?.focus({ preventScroll: true });
  }, []);
  return (
    <div className="page-head">
      <h1 ref={heading} tabIndex={-1}>{title}</h1>
      {children}
    </div>
  );
}
