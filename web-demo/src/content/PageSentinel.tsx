import { type ReactNode, useEffect, useEffectEvent, useRef } from "react";

// Read ahead: about two screens before the end of what is loaded.
const READ_AHEAD = "0px 0px 1200px 0px";

interface PageSentinelProps {
  onReach: () => void;
  children: ReactNode;
}

/** Calls `onReach` when the reader comes near; give it a new key for every page. */
export function PageSentinel({ onReach, children }: PageSentinelProps) {
  const element = useRef<HTMLDivElement>(null);
  const reached = useEffectEvent(onReach);
  useEffect(() => {
    if (element.current === null) return;
    const observer = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) reached();
    }, { rootMargin: READ_AHEAD });
    observer.observe(element.current);
    return () => { observer.disconnect(); };
  }, []);
  return <div ref={element}>{children}</div>;
}
