import type { JsonObject } from "@bufbuild/protobuf";
import { isObject } from "@devtool/schema/json";
import { type ReactNode, useState } from "react";
import { words } from "./words.ts";

export interface ArgumentsEditorProps {
  readonly initial: JsonObject;
  readonly isDisabled: boolean;
  readonly onChange: (args: JsonObject) => void;
}

/** The arguments of a call as JSON, to change. The call asks again with what is sent. */
export function ArgumentsEditor({ initial, isDisabled, onChange }: ArgumentsEditorProps): ReactNode {
  const [text, setText] = useState(() => JSON.stringify(initial, null, 2));
  const [isBroken, setBroken] = useState(false);
  const send = (): void => {
    const args = readObject(text);
    setBroken(args === undefined);
    if (args) onChange(args);
  };
  return (
    <>
      <textarea
        className="code"
        aria-label={words.input}
        value={text}
        spellCheck={false}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
      />
      {isBroken && <p role="alert">{words.noJson}</p>}
      <button type="button" disabled={isDisabled} onClick={send}>
        {words.askAgain}
      </button>
    </>
  );
}

function readObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
