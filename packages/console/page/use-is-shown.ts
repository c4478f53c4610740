import { type RefObject, useEffect, useRef } from "react";

/**
 * Returns whether the component is still shown, for what is done when a request
 * has an answer.
 */
export function useIsShown(): RefObject<boolean> {
  const isShown = useRef(true);
  useEffect(() => {
    isShown.current = true;
    return () => {
      isShown.current = false;
    };
  }, []);
  return isShown;
}
