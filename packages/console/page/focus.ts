import { type RefObject, useEffect, useLayoutEffect, useRef } from "react";

/**
 * Gives the focus to another element when the component goes that has it, which
 * would otherwise leave it nowhere: people with a keyboard or a screen reader
 * would begin at the top of the page.
 *
 * @param findHeir finds the element that gets the focus; called with the
 * element that goes, while it is still there
 */
export function useFocusHeir<Element extends HTMLElement>(
  findHeir: (leaving: Element) => HTMLElement | null | undefined,
): RefObject<Element | null> {
  const ref = useRef<Element>(null);
  useLayoutEffect(() => {
    const leaving = ref.current;
    return () => {
      if (!leaving?.contains(document.activeElement)) return;
      findHeir(leaving)?.focus({ preventScroll: true });
    };
  }, [findHeir]);
  return ref;
}

/** Finds what scrolls around an element. */
export function scrollingAround(element: HTMLElement): HTMLElement | null {
  return element.closest<HTMLElement>(".scroll");
}

/** Finds what the page shows around an element. */
export function mainAround(element: HTMLElement): HTMLElement | null {
  return element.closest("main");
}

/**
 * Gives the focus to what the page shows when the element that had it is hidden
 * or gone at another place: narrow screens show the list or a session, not both.
 *
 * @param place a name of the place that the page is at
 * @param shown selects the element that narrow screens show there
 */
export function useFocusAtPlace(place: string, shown: "main" | "nav"): void {
  const before = useRef(place);
  useEffect(() => {
    if (before.current === place) return;
    before.current = place;
    const { activeElement, body } = document;
    if (activeElement !== body && activeElement?.checkVisibility()) return;
    document.querySelector<HTMLElement>(shown)?.focus({ preventScroll: true });
  }, [place, shown]);
}
