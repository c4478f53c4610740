import type {
  ConfirmationOption,
  ToolCall,
} from "./gen/devtool/a2a/v1alpha/tool_call_pb.ts";
import {
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
} from "./tool-call.ts";
import { oneLine } from "./visible-text.ts";

/**
 * How far an answer to a question goes: it allows this call, later calls too,
 * or this call outside of a sandbox; it declines; it has the call ask again; or
 * it answers a question that is not about a call.
 */
export type AnswerReach =
  | "once"
  | "always"
  | "without_sandbox"
  | "decline"
  | "again"
  | "other";

const REACHES: ReadonlyMap<string, AnswerReach> = new Map([
  [OPTION_PROCEED_ONCE, "once"],
  [OPTION_PROCEED_ALWAYS, "always"],
  [OPTION_PROCEED_ALWAYS_TOOL, "always"],
  [OPTION_PROCEED_ALWAYS_SERVER, "always"],
  [OPTION_PROCEED_ALWAYS_AND_SAVE, "always"],
  [OPTION_PROCEED_WITHOUT_SANDBOX, "without_sandbox"],
  [OPTION_MODIFY_WITH_EDITOR, "again"],
  [OPTION_MODIFY_ARGUMENTS, "again"],
  [OPTION_CANCEL, "decline"],
  [OPTION_REJECT, "decline"],
]);

/**
 * Ids of others that decline, or allow one call. An id with any other word may
 * go further, and counts as going further.
 */
const PLAIN_DECLINE =
  /^(reject|decline|deny|denied|cancel)(ed|led|d)?([_-]?(once|always|this))?$/i;
const PLAIN_ALLOW =
  /^(proceed|allow|approve|accept)(ed|d)?([_-]?(once|this))?$/i;

/**
 * Returns how far an answer goes, by the id of its option. An id that is not
 * ours is read for that: one that may go further counts as such.
 */
export function reachOfAnswer(optionId: string): AnswerReach {
  // Several options of a kind have an id each: `proceed_once:2`.
  const [id = ""] = optionId.split(":", 1);
  const known = REACHES.get(id);
  if (known) return known;
  if (PLAIN_DECLINE.test(id)) return "decline";
  if (!/^(proceed|allow|approve|accept)/i.test(id)) return "other";
  if (/sandbox/i.test(id)) return "without_sandbox";
  return PLAIN_ALLOW.test(id) ? "once" : "always";
}

/**
 * Returns the id of the option with which a plain "no" answers a call: the one
 * that only declines it, where `cancel` also ends the agent's turn.
 */
export function declineOf({ confirmationRequest }: ToolCall): string {
  const declines =
    confirmationRequest?.options.some(({ id }) => id === OPTION_REJECT) ??
    false;
  return declines ? OPTION_REJECT : OPTION_CANCEL;
}

/** What the choice of a value is called. */
const ANSWER = "Answer";
/**
 * What an answer is called, and how else a name may begin that says the same.
 */
const LABELS: Readonly<
  Record<AnswerReach, { readonly label: string; readonly same: RegExp }>
> = {
  once: {
    label: "Allow once",
    same: /^(allow once\b|(allow|yes|send the answer|i opened it)$)/i,
  },
  always: {
    label: "Always allow",
    same: /^(always allow\b|allow this for all commands of this task$)/i,
  },
  without_sandbox: {
    label: "Allow without a sandbox",
    same: /^(always )?(allow|run)\b[^"]* without (a|the) sandbox\b/i,
  },
  decline: {
    label: "Decline",
    same: /^(decline\b|always (decline|deny)\b|(cancel|no|do not answer)$)/i,
  },
  again: { label: "Ask again", same: /^(edit|show|ask)\b[^"]*\bagain\b/i },
  other: { label: ANSWER, same: /^answer\b/i },
};

/** The maximum length of an agent's words in the name of an answer. */
const MAX_WORDS_LENGTH = 80;

/** What may look like the end of the quotes around an agent's words. */
const QUOTES =
  /["\u201c-\u201f\u2033\u2036\u02ba\u02dd\u02ee\u05f4\u275d\u275e\u301d-\u301f\uff02]/gu;

/**
 * Returns the name of an answer: our label, and behind it in quotes the words
 * of an agent, on one line and shortened. The label alone when the words are
 * empty or the same.
 */
export function answerName(label: string, words: string): string {
  const said = oneLine(words, MAX_WORDS_LENGTH).replaceAll(QUOTES, "'");
  if (said === "" || said.toLowerCase() === label.toLowerCase()) return label;
  return label === ANSWER ? `${label} "${said}"` : `${label} ("${said}")`;
}

/**
 * Returns options as a person is shown them. An agent or a server may call its
 * answers anything: a name that does not begin with what the answer does stands
 * behind our label for it, and equal names are told apart by the ids.
 */
export function namedAnswers(
  options: readonly ConfirmationOption[],
): ConfirmationOption[] {
  const named = options.map((option) => {
    const reach = reachOfAnswer(option.id);
    const { label, same } = LABELS[reach];
    const words = option.name || (reach === "other" ? option.id : "");
    const name = same.test(words) ? words : answerName(label, words);
    return { ...option, name };
  });
  const byName = Map.groupBy(named, ({ name }) => name);
  return named.map((option) =>
    byName.get(option.name)?.length === 1
      ? option
      : { ...option, name: answerName(option.name, option.id) },
  );
}
