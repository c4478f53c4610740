import { describeToolCall } from "@devtool/react";
import type { Part } from "@devtool/schema";
import type { ReactNode } from "react";

/** A tool call with its state, its output and who answered it. */
export function ToolCall({ part }: { readonly part: Part }): ReactNode {
  const display = describeToolCall(part);
  if (!display) return null;
  const { title, status, output, error, answerer } = display;
  return (
    <section className="call" aria-label={title}>
      <p>
        {title}: {status}
        {answerer &&
          `, answered by ${answerer.clientLabel || answerer.principal}`}
      </p>
      {output && <pre>{output}</pre>}
      {error && <pre>{error}</pre>}
    </section>
  );
}
