import { confirmationPart } from "@devtool/client";
import { type ConfirmationOption, OPTION_CANCEL, OPTION_PROCEED_ONCE, type Part, type ToolCall } from "@devtool/schema";
import { editText } from "./editor.ts";
import { type Io, writeLine } from "./io.ts";
import type { Prompter } from "./prompter.ts";
import { type Paint, visible } from "./render/style.ts";
import { questionLines, toolCallLine } from "./render/tool-call.ts";

/** Decides on a call that asks; undefined leaves the question open, as it is when `signal` aborts. */
export type Approver = (call: ToolCall, signal: AbortSignal) => Promise<Part | undefined>;

/** Says yes to everything. */
export const approveAll: Approver = (call) => Promise.resolve(confirmationPart(call, OPTION_PROCEED_ONCE));

/** Says no to everything, and says so. */
export function approveNever(io: Io): Approver {
  return (call) => {
    writeLine(io.stderr, `declined ${visible(call.toolName)}: nobody can be asked (see --approve)`);
    return Promise.resolve(confirmationPart(call, OPTION_CANCEL));
  };
}

/** Asks the person, with the options that the call offers; a proposed file can be edited first. */
export function approveByAsking(io: Io, paint: Paint, prompter: Prompter): Approver {
  return async (call, signal) => {
    const request = call.confirmationRequest;
    if (!request) return undefined;
    writeLine(io.stdout, [toolCallLine(call, paint), ...questionLines(request, paint)].join("\n"));
    const choices = choicesOf(request.options, request.details.case === "fileEditDetails");
    for (;;) {
      const typed = await prompter.ask(`${choices.map(({ key, label }) => `[${key}] ${label}`).join("  ")} > `, signal);
      const choice = choices.find(({ key, id }) => typed === key || typed === id);
      if (typed === undefined) return undefined;
      if (choice?.id === EDIT) return edited(call, io);
      if (choice) return confirmationPart(call, choice.id);
      writeLine(io.stdout, `choose ${choices.map(({ key }) => key).join(", ")}`);
    }
  };
}

interface Choice {
  readonly key: string;
  readonly id: string;
  readonly label: string;
}

/** What to type to edit the proposed file; not an option of the RFC's. */
const EDIT = "edit";

function choicesOf(options: readonly ConfirmationOption[], editable: boolean): Choice[] {
  const offered = options.map(
    ({ id, name }, index): Choice => ({ key: KEYS.get(id) ?? String(index + 1), id, label: visible(name) }),
  );
  const edit: Choice[] = editable ? [{ key: "e", id: EDIT, label: "Edit first" }] : [];
  return [...offered.slice(0, -1), ...edit, ...offered.slice(-1)];
}

const KEYS: ReadonlyMap<string, string> = new Map([
  [OPTION_PROCEED_ONCE, "y"],
  ["proceed_always", "a"],
  ["proceed_always_tool", "t"],
  ["proceed_always_server", "s"],
  [OPTION_CANCEL, "n"],
]);

async function edited(call: ToolCall, io: Io): Promise<Part> {
  const details = call.confirmationRequest?.details;
  const proposed = details?.case === "fileEditDetails" ? details.value : undefined;
  const content = await editText(proposed?.newContent ?? "", proposed?.fileName ?? "file", io);
  return confirmationPart(call, OPTION_PROCEED_ONCE, content);
}
