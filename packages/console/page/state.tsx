import { TaskState } from "@devtool/schema";
import type { ReactNode } from "react";
import { words } from "./words.ts";

/** The state of a session, in words and by a mark. */
export function State({ state }: { readonly state: TaskState }): ReactNode {
  const name = TaskState[state];
  const text = isState(name) ? words.states[name] : words.states.UNSPECIFIED;
  return (
    <span className="state" data-state={name}>
      {text}
    </span>
  );
}

function isState(name: string | undefined): name is keyof typeof words.states {
  return name !== undefined && name in words.states;
}
