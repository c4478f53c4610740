import { visibleText } from "@devtool/internal/visible-text";
import { describeToolCall } from "@devtool/react";
import type { Part } from "@devtool/schema";
import Anser from "anser";
import type { ReactNode } from "react";
import { DiffView } from "./diff-view.tsx";
import { fillText, words } from "./words.ts";

/**
 * A tool call: one line, which opens to what it does and what came of it. It is
 * open while it runs, and when it failed.
 */
export function ToolCallView({ part }: { readonly part: Part }): ReactNode {
  const display = describeToolCall(part);
  if (!display || display.status === "asking") return null;
  const {
    call,
    title,
    status,
    command,
    diff,
    output,
    data,
    error,
    progress,
    answerer,
  } = display;
  return (
    <details
      className="call"
      data-status={status}
      open={status === "running" || status === "failed"}
    >
      <summary>
        <span className="call-status">{words.calls[status]}</span>{" "}
        <span className="call-title">{title}</span>
      </summary>
      {progress !== undefined && status === "running" && (
        <progress value={progress} aria-label={title} />
      )}
      {command !== undefined && (
        <pre className="command">{visibleText(command)}</pre>
      )}
      {diff ? (
        <DiffView diff={diff} />
      ) : (
        output && <TerminalOutput text={output} />
      )}
      {data && (
        <pre className="output">
          {visibleText(JSON.stringify(data, null, 2))}
        </pre>
      )}
      {error && <p className="problem">{visibleText(error)}</p>}
      {command === undefined && !diff && call.inputParameters && (
        <details>
          <summary>{words.input}</summary>
          <pre className="output">
            {visibleText(JSON.stringify(call.inputParameters, null, 2))}
          </pre>
        </details>
      )}
      {answerer && (
        <p className="facts">
          {fillText(words.answeredBy, answerer.principal)}
          {answerer.clientLabel && ` (${answerer.clientLabel})`}
        </p>
      )}
    </details>
  );
}

/** Output of a program, with its colours. */
function TerminalOutput({ text }: { readonly text: string }): ReactNode {
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
