import type { JsonObject } from "@bufbuild/protobuf";
import { isObject, parseJsonOrUndefined } from "@devtool/internal/json";
import { assertExactJson, WireError } from "@devtool/schema";
import { type ReactNode, useState } from "react";
import { words } from "./words.ts";

interface ArgumentsEditorProps {
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
  const [problem, setProblem] = useState("");
  return (
    <>
      <textarea
        className="code"
        aria-label={words.input}
        value={text}
        spellCheck={false}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
      />
      {problem !== "" && <p role="alert">{problem}</p>}
      <button
        type="button"
        // Not `disabled`, which would take the focus from it.
        aria-disabled={isDisabled}
        onClick={() => {
          if (isDisabled) return;
          const args = parseJsonOrUndefined(text);
          const found = isObject(args) ? findInexact(text) : words.notAnObject;
          setProblem(found);
          if (isObject(args) && found === "") onChange(args);
        }}
      >
        {words.askAgain}
      </button>
    </>
  );
}

/** Returns what of valid JSON would be sent as something else; or "". */
function findInexact(text: string): string {
  try {
    assertExactJson(text);
    return "";
  } catch (reason) {
    if (reason instanceof WireError) return reason.message;
    throw reason;
  }
}
