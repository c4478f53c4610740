import { visibleText } from "@devtool/schema";
import Anser from "anser";
import type { ReactNode } from "react";

/** Output of a program, with its colours. */
export function TerminalOutput({ text }: { readonly text: string }): ReactNode {
  const spans = Anser.ansiToJson(text, {
    json: true,
    remove_empty: true,
    use_classes: true,
  });
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls
    <pre className="output" tabIndex={0}>
      {spans.map(({ fg, decorations, content }, index) => (
        <span
          // biome-ignore lint/suspicious/noArrayIndexKey: spans have no other name
          key={index}
          className={
            [fg, ...decorations].filter(Boolean).join(" ") || undefined
          }
        >
          {visibleText(content)}
        </span>
      ))}
    </pre>
  );
}
