import { type RefObject, useEffect, useState } from "react";

/**
 * Whether the end of something has been in view, above a bar that covers the
 * lower part of what scrolls. Once it has, it stays so. Undefined before the
 * page was laid out.
 */
export function useSeen(
  end: RefObject<HTMLElement | null>,
  bar: RefObject<HTMLElement | null>,
): boolean | undefined {
  const [isSeen, setSeen] = useState<boolean>();
  useEffect(() => {
    if (isSeen || !end.current || !bar.current) return;
    const covers = getComputedStyle(bar.current).position === "sticky";
    const covered = covers ? bar.current.offsetHeight : 0;
    const observer = new IntersectionObserver(
      (entries) =>
        setSeen(entries.some(({ isIntersecting }) => isIntersecting)),
      {
        root: end.current.closest(".scroll"),
        // What lies above the view was passed.
        rootMargin: `9999999px 0px -${covered}px 0px`,
      },
    );
    observer.observe(end.current);
    return () => observer.disconnect();
  }, [isSeen, end, bar]);
  return isSeen;
}
