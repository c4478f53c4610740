import type { AskedToolCall } from "@devtool/client";
import { oneLine } from "@devtool/internal/visible-text";
import {
  type ConfirmationRequest,
  declineOf,
  OPTION_CANCEL,
  OPTION_MODIFY_ARGUMENTS,
  OPTION_MODIFY_WITH_EDITOR,
  OPTION_PROCEED_ALWAYS,
  OPTION_PROCEED_ALWAYS_AND_SAVE,
  OPTION_PROCEED_ALWAYS_SERVER,
  OPTION_PROCEED_ALWAYS_TOOL,
  OPTION_PROCEED_ONCE,
  OPTION_PROCEED_WITHOUT_SANDBOX,
  OPTION_REJECT,
} from "@devtool/schema";
import { visibleName } from "./render/style.ts";

/** A line of the menu below a question. */
export interface Choice {
  readonly key: string;
  /** The id of the option. */
  readonly id: string;
  readonly label: string;
  /** What the user edits first. */
  readonly edits?: "file" | "arguments";
}

/**
 * Writes the file as the user edited it, without another question. Not an
 * option of the call.
 */
const EDIT_FIRST = "Edit, then allow once";

/**
 * Shows the whole question when it does not fit the terminal. Not an option of
 * the call.
 */
export const VIEW_ALL: Choice = {
  key: "v",
  id: "view",
  label: "View all of it",
};

/** Shows the answers that a small terminal leaves out. Not an option. */
export const MORE: Choice = { key: "o", id: "more", label: "Other answers" };

/**
 * Returns the main answers of a menu: to allow once, to allow from now on, and
 * to decline; the others behind one more.
 */
export function shortMenu(choices: readonly Choice[]): readonly Choice[] {
  const main = choices.filter(
    ({ key }, index) => index === 0 || key === "a" || key === "n",
  );
  return choices.length <= main.length + 1 ? choices : [...main, MORE];
}

/**
 * Returns the options of a call; also those of editing a proposed file and the
 * arguments, before the last, which declines. Whoever wants to be asked again
 * changes the arguments, where that is possible.
 */
export function choicesFor(
  { options, details }: ConfirmationRequest,
  call: AskedToolCall,
): Choice[] {
  const decline = declineOf(call);
  const isFile = details.case === "fileEditDetails";
  const shown = options.filter(
    ({ id }) =>
      id !== OPTION_MODIFY_WITH_EDITOR || !isFile || !call.argumentsEditable,
  );
  const offered = shown.map(
    ({ id, name, description }, index): Choice => ({
      key: keyOf(id, index, decline, shown),
      id,
      label: oneLine(
        description === undefined ? name : `${name}: ${description}`,
      ),
      ...(id === OPTION_MODIFY_WITH_EDITOR && { edits: "file" }),
    }),
  );
  const file: Choice = {
    key: "e",
    id: OPTION_PROCEED_ONCE,
    label: EDIT_FIRST,
    edits: "file",
  };
  const args: Choice = {
    key: "c",
    id: OPTION_MODIFY_ARGUMENTS,
    label: "Change the arguments, and be asked again",
    edits: "arguments",
  };
  const added = [
    ...(isFile ? [file] : []),
    ...(call.argumentsEditable ? [args] : []),
  ];
  return [...offered.slice(0, -1), ...added, ...offered.slice(-1)];
}

/**
 * Returns the key of an option: its own, where no earlier option has it, or one
 * by its place. A key is one character, since a question takes one.
 */
function keyOf(
  id: string,
  index: number,
  decline: string,
  options: readonly { readonly id: string }[],
): string {
  if (id === decline) return "n";
  const key = KEYS.get(id);
  const isTaken = options
    .slice(0, index)
    .some((earlier) => KEYS.get(earlier.id) === key);
  return key !== undefined && !isTaken
    ? key
    : (PLACES[index] ?? String(index + 1));
}

/** The keys by place: those that have no meaning in any question. */
const PLACES = "123456789bfghijklqruzABCDEFGHIJKLMOPQRSTUVWXZ";

const KEYS: ReadonlyMap<string, string> = new Map([
  [OPTION_PROCEED_ONCE, "y"],
  [OPTION_PROCEED_ALWAYS, "a"],
  [OPTION_PROCEED_ALWAYS_TOOL, "t"],
  [OPTION_PROCEED_ALWAYS_SERVER, "s"],
  [OPTION_PROCEED_ALWAYS_AND_SAVE, "p"],
  ["proceed_for_task", "a"],
  [OPTION_PROCEED_WITHOUT_SANDBOX, "w"],
  [OPTION_MODIFY_WITH_EDITOR, "m"],
  [OPTION_CANCEL, "x"],
]);

const ANSWERS: ReadonlyMap<string, string> = new Map([
  [OPTION_PROCEED_ONCE, "allow once"],
  [OPTION_PROCEED_ALWAYS, "always allow"],
  [OPTION_PROCEED_ALWAYS_TOOL, "always allow this tool"],
  [OPTION_PROCEED_ALWAYS_SERVER, "always allow this server"],
  [OPTION_PROCEED_ALWAYS_AND_SAVE, "always allow, in later sessions too"],
  [OPTION_PROCEED_WITHOUT_SANDBOX, "allow without a sandbox"],
  [OPTION_MODIFY_WITH_EDITOR, "ask again with other content"],
  [OPTION_MODIFY_ARGUMENTS, "ask again with other arguments"],
  [OPTION_CANCEL, "decline"],
  [OPTION_REJECT, "decline"],
]);

/**
 * Returns the line about an answer that was given earlier or elsewhere. An
 * option that is not known is named by its id, in quotes: an agent may call it
 * like one of ours.
 */
export function answerLine(optionId: string): string {
  const [id = ""] = optionId.split(":", 1);
  return `· answered: ${ANSWERS.get(id) ?? `"${visibleName(optionId)}"`}`;
}

/**
 * Finds the choice that a text names: by its key, or else by the id of its
 * option, which an agent may call like the key of another one.
 */
export function findChoice(
  choices: readonly Choice[],
  text: string,
): Choice | undefined {
  return (
    choices.find(({ key }) => text === key && key !== "") ??
    choices.find(
      ({ id, label }) => text === id && id !== "" && label !== EDIT_FIRST,
    )
  );
}
