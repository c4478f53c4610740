import { create } from "@bufbuild/protobuf";
import { oneLine } from "@devtool/internal/visible-text";
import {
  type ConfirmationOption,
  ConfirmationOptionSchema,
  type ToolCall,
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
 * that only declines it, where `cancel` also ends the agent's turn. Agents of
 * others may have an id of their own for it.
 */
export function declineOf({ confirmationRequest }: ToolCall): string {
  const ids = confirmationRequest?.options.map(({ id }) => id) ?? [];
  return (
    [OPTION_REJECT, OPTION_CANCEL].find((id) => ids.includes(id)) ??
    ids.find((id) => reachOfAnswer(id) === "decline") ??
    OPTION_CANCEL
  );
}

const DECLINE = create(ConfirmationOptionSchema, {
  id: OPTION_CANCEL,
  name: "Decline",
});

/** What the choice of a value is called, and one that has no words. */
const ANSWER = "Answer";
const NAMELESS = "without a name";
/** The maximum length of an agent's words in the name of an answer. */
const MAX_WORDS_LENGTH = 80;
/** The maximum length of what is said about an answer, in characters. */
const MAX_ABOUT_LENGTH = 1000;

/** What may look like the end of the quotes around an agent's words. */
const QUOTES =
  /["\u201c-\u201f\u2033\u2036\u02ba\u02dd\u02ee\u05f4\u275d\u275e\u301d-\u301f\uff02]/gu;

/** An agent's words behind a name, as `answerName` writes them. */
const WORDS = `"${QUOTES.source.replace("[", "[^")}{0,120}"`;
const named = (names: string): RegExp =>
  new RegExp(`^(${names})( \\(${WORDS}\\))?$`, "iu");
/** What tells an answer from an earlier one with the same name. */
const PLACE = / #\d+$/;
/** What an answer is called, and the other names that say the same. */
const LABELS: Readonly<
  Record<AnswerReach, { readonly label: string; readonly same: RegExp }>
> = {
  once: {
    label: "Allow once",
    same: named(
      "allow once(, for this turn|, in or outside of Codex's sandbox)?|allow|yes|send the answer|i opened it",
    ),
  },
  always: {
    label: "Always allow",
    same: named(
      String.raw`always allow( ((this exact command|this tool|(tools of )?[\w.\-]+) )?in this session|, in later sessions too| (commands that begin with|connections to) "([^"\\]|\\.)*")?(, in or outside of Codex's sandbox)?|allow this for all commands of this task`,
    ),
  },
  without_sandbox: {
    label: "Allow without a sandbox",
    same: named("((always )?allow|run it again) without a sandbox"),
  },
  decline: {
    label: "Decline",
    same: named("(always )?decline|cancel|no|do not answer"),
  },
  again: {
    label: "Ask again",
    same: named("edit, and be asked again|ask again"),
  },
  other: {
    label: ANSWER,
    same: new RegExp(`^answer( in my own words| ${WORDS})$`, "iu"),
  },
};

/**
 * Returns the name of an answer: our label, and behind it in quotes the words
 * of an agent, on one line and shortened. The label alone when the words are
 * empty or the same.
 */
export function answerName(label: string, words: string): string {
  const said = quotable(words, MAX_WORDS_LENGTH);
  if (label === ANSWER) return `${label} "${said}"`;
  const isSame = said.toLowerCase() === label.toLowerCase();
  return said === "" || isSame ? label : `${label} ("${said}")`;
}

/**
 * Returns what an agent or a server says about an answer, in quotes: nobody
 * knows whether it is true. Undefined where it says nothing.
 */
export function quotedAbout(about: string | undefined): string | undefined {
  const said = quotable(about ?? "", MAX_ABOUT_LENGTH);
  return said === "" ? undefined : `"${said}"`;
}

/** Puts words on one line on which nothing ends the quotes around them. */
function quotable(words: string, maxLength: number): string {
  return (
    oneLine(words, maxLength)
      .replaceAll(QUOTES, "'")
      // A mark would be drawn over our quote.
      .replace(/^(?=\p{M})/u, "\u25cc")
  );
}

/**
 * Returns options as a person is shown them. An agent or a server may call its
 * answers anything: a name that says more than what the answer does stands
 * behind our label for it, and equal names are told apart by numbers. Of options
 * with the same id, whose effect is the same, the first is shown. An agent can
 * leave out the answer that declines, and nobody the right to it (TOOL-10).
 */
export function namedAnswers(
  options: readonly ConfirmationOption[],
): ConfirmationOption[] {
  const declines = options.some(({ id }) => reachOfAnswer(id) === "decline");
  const all = declines ? options : [...options, DECLINE];
  const shown = all.filter(
    ({ id }, index) => all.findIndex((other) => other.id === id) === index,
  );
  const named = shown.map((option) => {
    const reach = reachOfAnswer(option.id);
    const { label, same } = LABELS[reach];
    const shown = option.name.replace(PLACE, "");
    if (same.test(shown)) return { ...option, name: shown };
    const words = reach === "other" ? option.id.trim() || NAMELESS : "";
    return { ...option, name: answerName(label, option.name.trim() || words) };
  });
  const counts = new Map<string, number>();
  return named.map((option) => {
    const count = (counts.get(option.name) ?? 0) + 1;
    counts.set(option.name, count);
    return count === 1
      ? option
      : { ...option, name: `${option.name} #${count}` };
  });
}
