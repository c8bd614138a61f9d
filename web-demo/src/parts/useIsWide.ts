import { useSyncExternalStore } from "react";

/** As in the styles: below it is a phone's page. */
const wide = window.matchMedia("(width >= 52rem)");

function subscribe(listener: () => void) {
  wide.addEventListener("change", listener);
  return () => { wide.removeEventListener("change", listener); };
}

export const useIsWide = () => useSyncExternalStore(subscribe, () => wide.matches);
