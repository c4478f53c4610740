import { create } from "@bufbuild/protobuf";
import { type AskedToolCall, confirmationPart } from "@devtool/client";
import {
  declineOf,
  OPTION_PROCEED_ONCE,
  OPTION_PROCEED_WITHOUT_SANDBOX,
  type Part,
  PartSchema,
  reachOfAnswer,
} from "@devtool/schema";
import { type Choice, choicesFor, findChoice, VIEW_ALL } from "./choice.ts";
import { ArgumentsEditor } from "./edit-arguments.ts";
import { editText } from "./editor.ts";
import { userMessage } from "./error-text.ts";
import { type Io, writeLine } from "./io.ts";
import { screenSize } from "./render/gutter.ts";
import { indented, paintFor, visibleName } from "./render/style.ts";
import { questionLines, toolCallLine } from "./render/tool-call.ts";
import { Bell } from "./terminal/bell.ts";
import type { Questioner } from "./terminal/questioner.ts";

/** A tool call that waits for an answer. */
export interface AskedCall {
  readonly call: AskedToolCall;
  /** Whether a running tool asks. Such a question may be answered with text. */
  readonly isQuestion: boolean;
}

/**
 * Answers a call's question. Undefined leaves it open, as does an aborted
 * signal.
 */
export type Approver = (
  asked: AskedCall,
  signal: AbortSignal,
) => Promise<readonly Part[] | undefined>;

/**
 * How `--approve all` answers when a command asks to run again without the
 * sandbox.
 */
type WithoutSandbox = "approve" | "decline";

/**
 * Returns an approver that approves everything, except running without the
 * sandbox unless that is wanted.
 */
export function approveAll(
  io: Pick<Io, "stderr">,
  withoutSandbox: WithoutSandbox,
): Approver {
  const decline = declineAll(
    io,
    "it would run without the sandbox (see --approve-without-sandbox)",
  );
  return (asked, signal) => {
    const ids =
      asked.call.confirmationRequest?.options.map(({ id }) => id) ?? [];
    const isWithoutSandbox = ids.includes(OPTION_PROCEED_WITHOUT_SANDBOX);
    const isApprovable = isWithoutSandbox || ids.includes(OPTION_PROCEED_ONCE);
    if (!isApprovable) return declineAll(io, whyNot(ids))(asked, signal);
    if (isWithoutSandbox && withoutSandbox === "decline") {
      return decline(asked, signal);
    }
    const option = isWithoutSandbox
      ? OPTION_PROCEED_WITHOUT_SANDBOX
      : OPTION_PROCEED_ONCE;
    return Promise.resolve([confirmationPart(asked.call, option)]);
  };
}

/** Says why a call cannot be approved once, by the ids of its options. */
function whyNot(ids: readonly string[]): string {
  return ids.every((id) => reachOfAnswer(id) === "decline")
    ? "the agent offers no way to approve it"
    : `the agent offers no way to approve it once, only ${ids.map(visibleName).join(", ")}`;
}

/** Returns an approver that declines everything and prints why. */
export function declineAll(io: Pick<Io, "stderr">, why: string): Approver {
  return ({ call }) => {
    writeLine(io.stderr, `declined ${visibleName(call.toolName)}: ${why}`);
    return Promise.resolve([confirmationPart(call, declineOf(call))]);
  };
}

/**
 * Returns an approver that asks the user with the call's options. A proposed
 * file and the arguments can be edited first.
 */
export function approveByAsking(io: Io, questioner: Questioner): Approver {
  const { out } = questioner;
  const paint = paintFor(io, out);
  const argumentsEditor = new ArgumentsEditor(io);
  const bell = new Bell(() => out.write("\u0007"), undefined);
  return async ({ call, isQuestion }, signal) => {
    const request = call.confirmationRequest;
    if (!request) return undefined;
    const screen = screenSize(out);
    // The first line of the question stays visible.
    const maxLines = Math.max(
      6,
      (screen.rows ?? 40) - request.options.length - 8,
    );
    const whole = questionLines(call, paint, {
      screen,
      maxLines: Number.POSITIVE_INFINITY,
    });
    const short = questionLines(call, paint, { screen, maxLines });
    const choices = choicesFor(request, call);
    if (short.length < whole.length) choices.push(VIEW_ALL);
    const menu = choices.map(
      ({ key, label }) => `  ${paint("heading", `[${key}]`)} ${label}`,
    );
    const printQuestion = (lines: readonly string[]): void =>
      writeLine(out, [toolCallLine(call, paint), ...lines, ...menu].join("\n"));
    printQuestion(short);
    bell.update(call);
    const prompt = isQuestion ? "choose, or type the answer > " : "choose > ";
    for (;;) {
      const line = await questioner.ask(
        { prompt: paint("heading", prompt), takesWords: isQuestion },
        signal,
      );
      bell.noteInput();
      if (line === undefined) return undefined;
      const { text, isPasted } = line;
      const choice = isPasted ? undefined : findChoice(choices, text);
      if (choice === VIEW_ALL) {
        printQuestion(whole);
      } else if (choice?.edits) {
        const part = await editAnswer(call, choice, {
          io,
          questioner,
          argumentsEditor,
        });
        if (part) return [part];
      } else if (choice) {
        return [confirmationPart(call, choice.id)];
      } else if (isQuestion && text !== "") {
        const answer = create(PartSchema, {
          content: { case: "text", value: text },
        });
        return [answer, confirmationPart(call, OPTION_PROCEED_ONCE)];
      } else {
        writeLine(out, `choose ${choices.map(({ key }) => key).join(", ")}`);
      }
    }
  };
}

/** Dependencies of `editAnswer`. */
interface Editors {
  readonly io: Io;
  readonly questioner: Questioner;
  readonly argumentsEditor: ArgumentsEditor;
}

/**
 * Lets the user edit the arguments or the proposed file in an editor, which
 * gets the terminal, and returns the answer with them. If there is no editor or
 * it fails, prints why and returns undefined: the question stays open.
 */
async function editAnswer(
  call: AskedToolCall,
  { id, edits }: Choice,
  editors: Editors,
): Promise<Part | undefined> {
  const { io, questioner, argumentsEditor } = editors;
  const details = call.confirmationRequest?.details;
  const proposed =
    details?.case === "fileEditDetails" ? details.value : undefined;
  try {
    return await questioner.lend(async () => {
      if (edits === "arguments") return argumentsEditor.edit(call);
      const newContent = await editText(
        proposed?.newContent ?? "",
        proposed?.fileName ?? "file",
        io,
      );
      return confirmationPart(call, id, newContent);
    });
  } catch (reason) {
    writeLine(questioner.out, indented(userMessage(reason)));
    return undefined;
  }
}
