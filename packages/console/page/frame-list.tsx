import { type ReactNode, useState } from "react";
import { VList } from "virtua";
import type { ConsoleClient } from "./console-client.ts";
import { type Binding, type Frame, useFrames } from "./frames.ts";
import { countText, words } from "./words.ts";

interface FrameListProps {
  readonly client: ConsoleClient;
  readonly taskId: string;
  readonly binding: Binding;
}

/**
 * The frames of a session on a binding, with the request that the page has sent
 * for them.
 */
export function FrameList({
  client,
  taskId,
  binding,
}: FrameListProps): ReactNode {
  const { frames, leftOut, problem } = useFrames(client, taskId, binding);
  const [isCopied, setCopied] = useState(false);
  const copy = (): void => {
    void navigator.clipboard.writeText(frames.map(textOf).join("\n\n")).then(
      () => setCopied(true),
      () => setCopied(false),
    );
  };
  return (
    <>
      <div className="frames-about">
        <code>
          {binding.method} {binding.path(taskId)}{" "}
          {binding.body && JSON.stringify(binding.body(taskId))}
        </code>
        {/* A browser lets only pages write to the clipboard that are served over TLS or from this machine. */}
        {isSecureContext && (
          <button type="button" onClick={copy}>
            {isCopied ? words.copied : words.copy}
          </button>
        )}
        {leftOut > 0 && <span>{countText(words.leftOut, leftOut)}</span>}
        {problem && <span role="alert">{problem}</span>}
      </div>
      <VList
        className="timeline"
        tabIndex={0}
        role="group"
        aria-label={binding.name}
      >
        {frames.map((frame) => (
          <pre key={frame.number} className="frame">
            {textOf(frame)}
          </pre>
        ))}
      </VList>
    </>
  );
}

/** A frame as it was sent: an event of a stream has its id in front. */
function textOf({ id, text }: Frame): string {
  return id === "" ? text : `id: ${id}\ndata: ${text}`;
}
