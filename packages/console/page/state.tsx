import { TaskState } from "@devtool/schema";
import type { ReactNode } from "react";
import { words } from "./words.ts";

/** The state of a session, in words and by a mark. */
export function State({ state }: { readonly state: TaskState }): ReactNode {
  const name = TaskState[state];
  const texts: Readonly<Record<string, string>> = words.states;
  return (
    <span className="state" data-state={name}>
      {texts[name] ?? words.states.UNSPECIFIED}
    </span>
  );
}
