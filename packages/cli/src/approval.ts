import { create } from "@bufbuild/protobuf";
import { confirmationPart } from "@devtool/client";
import {
  type ConfirmationRequest,
  OPTION_CANCEL,
  OPTION_MODIFY_WITH_EDITOR,
  OPTION_PROCEED_ONCE,
  type Part,
  PartSchema,
  type ToolCall,
} from "@devtool/schema";
import { editText } from "./editor.ts";
import { type Io, writeLine } from "./io.ts";
import type { Prompter } from "./prompter.ts";
import { type Paint, visible } from "./render/style.ts";
import { questionLines, toolCallLine } from "./render/tool-call.ts";

/** A call that asks, and for whom. */
export interface AskedCall {
  readonly call: ToolCall;
  /** Whether it is a question of a tool that runs: that one may want words for an answer. */
  readonly isQuestion: boolean;
}

/** Decides on a call that asks: what to answer. Undefined leaves the question open, as it is when `signal` aborts. */
export type Approver = (asked: AskedCall, signal: AbortSignal) => Promise<readonly Part[] | undefined>;

/** Says yes to everything. */
export const approveAll: Approver = ({ call }) => Promise.resolve([confirmationPart(call, OPTION_PROCEED_ONCE)]);

/** Says no to everything, and says so. */
export function approveNever(io: Io): Approver {
  return ({ call }) => {
    writeLine(io.stderr, `declined ${visible(call.toolName)}: nobody can be asked (see --approve)`);
    return Promise.resolve([confirmationPart(call, OPTION_CANCEL)]);
  };
}

/** Asks the person, with the options that the call offers; a proposed file can be edited first. */
export function approveByAsking(io: Io, paint: Paint, prompter: Prompter): Approver {
  return async ({ call, isQuestion }, signal) => {
    const request = call.confirmationRequest;
    if (!request) return undefined;
    writeLine(io.stdout, [toolCallLine(call, paint), ...questionLines(call, paint)].join("\n"));
    const choices = choicesOf(request);
    const offer = choices.map(({ key, label }) => `[${key}] ${label}`).join("  ");
    for (;;) {
      const typed = await prompter.ask(`${offer}${isQuestion ? "  or type the answer" : ""} > `, signal);
      if (typed === undefined) return undefined;
      const choice = choices.find(({ key, id }) => typed === key || typed === id);
      if (choice?.id === EDIT) return [await edited(call, OPTION_PROCEED_ONCE, io)];
      if (choice?.id === OPTION_MODIFY_WITH_EDITOR) return [await edited(call, choice.id, io)];
      if (choice) return [confirmationPart(call, choice.id)];
      if (isQuestion && typed.trim() !== "") return [textPart(typed), confirmationPart(call, OPTION_PROCEED_ONCE)];
      writeLine(io.stdout, `choose ${choices.map(({ key }) => key).join(", ")}`);
    }
  };
}

function textPart(text: string): Part {
  return create(PartSchema, { content: { case: "text", value: text } });
}

interface Choice {
  readonly key: string;
  readonly id: string;
  readonly label: string;
}

/** What to type to edit the proposed file; not an option of the RFC's. */
const EDIT = "edit";

function choicesOf({ options, details }: ConfirmationRequest): Choice[] {
  const offered = options.map(
    ({ id, name, description }, index): Choice => ({
      key: KEYS.get(id) ?? String(index + 1),
      id,
      label: visible(description === undefined ? name : `${name}: ${description}`),
    }),
  );
  const edit: Choice[] = details.case === "fileEditDetails" ? [{ key: "e", id: EDIT, label: "Edit first" }] : [];
  return [...offered.slice(0, -1), ...edit, ...offered.slice(-1)];
}

const KEYS: ReadonlyMap<string, string> = new Map([
  [OPTION_PROCEED_ONCE, "y"],
  ["proceed_always", "a"],
  ["proceed_always_tool", "t"],
  ["proceed_always_server", "s"],
  ["proceed_always_and_save", "p"],
  ["proceed_for_task", "a"],
  [OPTION_MODIFY_WITH_EDITOR, "m"],
  [OPTION_CANCEL, "n"],
]);

async function edited(call: ToolCall, optionId: string, io: Io): Promise<Part> {
  const details = call.confirmationRequest?.details;
  const proposed = details?.case === "fileEditDetails" ? details.value : undefined;
  const content = await editText(proposed?.newContent ?? "", proposed?.fileName ?? "file", io);
  return confirmationPart(call, optionId, content);
}
