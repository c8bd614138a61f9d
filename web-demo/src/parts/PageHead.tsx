import { type ReactNode, useEffect, useRef } from "react";
import { goBack } from "../routing";
import { Icon } from "./Icon";

interface PageHeadProps {
  title: string;
  /** Whether a button leads to where the reader has come from. */
  back?: boolean;
  /** Whether it stays at the top. */
  isSticky?: boolean;
  children?: ReactNode;
}

/** A page's heading. It takes the focus if the link that led here has gone, so that the keyboard goes on from the top. */
export function PageHead({ title, back = false, isSticky = false, children }: PageHeadProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (document.activeElement === document.body) heading.current?.focus({ preventScroll: true });
  }, []);
  return (
    <div className={isSticky ? "page-head sticky" : "page-head"}>
      {back && <button type="button" className="icon-button" aria-label="Back" title="Back" onClick={goBack} data-testid="back"><Icon name="arrowLeft" /></button>}
      <h1 ref={heading} tabIndex={-1}>{title}</h1>
      {children}
    </div>
  );
}
