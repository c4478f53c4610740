import type { JsonObject } from "@bufbuild/protobuf";
import { isObject, parseJsonOrUndefined } from "@devtool/schema/json";
import { type ReactNode, useState } from "react";
import { words } from "./words.ts";

export interface ArgumentsEditorProps {
  readonly initial: JsonObject;
  readonly isDisabled: boolean;
  readonly onChange: (args: JsonObject) => void;
}

/**
 * The arguments of a call as JSON, to change. The call asks again with what is
 * sent.
 */
export function ArgumentsEditor({
  initial,
  isDisabled,
  onChange,
}: ArgumentsEditorProps): ReactNode {
  const [text, setText] = useState(() => JSON.stringify(initial, null, 2));
  const [isBroken, setBroken] = useState(false);
  return (
    <>
      <textarea
        className="code"
        aria-label={words.input}
        value={text}
        spellCheck={false}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
      />
      {isBroken && <p role="alert">{words.notAnObject}</p>}
      <button
        type="button"
        // Not `disabled`, which would take the focus from it.
        aria-disabled={isDisabled}
        onClick={() => {
          if (isDisabled) return;
          const args = parseJsonOrUndefined(text);
          setBroken(!isObject(args));
          if (isObject(args)) onChange(args);
        }}
      >
        {words.askAgain}
      </button>
    </>
  );
}
