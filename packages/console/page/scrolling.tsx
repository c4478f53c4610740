import type { ReactNode } from "react";

interface ScrollingProps {
  readonly label?: string;
  readonly className?: string;
  readonly children: ReactNode;
}

/**
 * A region that scrolls, also by the keyboard, where its content is larger than
 * the page.
 */
export function Scrolling({
  label,
  className = "",
  children,
}: ScrollingProps): ReactNode {
  return (
    // biome-ignore lint/a11y/useSemanticElements: no group of fields
    <div
      className={`wide ${className}`}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can have the focus
      tabIndex={0}
      role="group"
      aria-label={label}
    >
      {children}
    </div>
  );
}
