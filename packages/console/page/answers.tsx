import { visibleText } from "@devtool/internal/visible-text";
import {
  type ConfirmationOption,
  OPTION_CANCEL,
  OPTION_REJECT,
  reachOfAnswer,
} from "@devtool/schema";
import type { ReactNode } from "react";
import { words } from "./words.ts";

interface AnswersProps {
  /** The id of the notes about the options (`AnswerNotes`). */
  readonly notes: string;
  readonly options: readonly ConfirmationOption[];
  /** Whether an answer that declines counts now. */
  readonly mayDecline: boolean;
  /** Whether an answer that allows something counts now. */
  readonly mayAllow: boolean;
  /** Whether the user has changed what the call writes. */
  readonly isEdited: boolean;
  readonly onChoose: (optionId: string) => void;
  /** Further buttons, between those that allow and those that decline. */
  readonly children: ReactNode;
}

/** The answers to a question, in one row. */
export function Answers({
  notes,
  options,
  mayDecline,
  mayAllow,
  isEdited,
  onChoose,
  children,
}: AnswersProps): ReactNode {
  const button = (option: ConfirmationOption): ReactNode => {
    const declines = isDecline(option);
    const isReady = declines ? mayDecline : mayAllow;
    const index = options.indexOf(option);
    const look = index === 0 ? "primary" : undefined;
    return (
      <button
        key={option.id}
        type="button"
        className={declines ? "decline" : look}
        // Not `disabled`, which would take the focus from a button that is to be
        // used in a moment.
        aria-disabled={!isReady}
        aria-describedby={
          aboutOf(option) === "" ? undefined : `${notes}-${index}`
        }
        onClick={() => isReady && onChoose(option.id)}
      >
        {labelOf(option)}
        {isEdited && !declines && ` (${words.edited})`}
      </button>
    );
  };
  return (
    <div className="options">
      {options.filter((option) => !isDecline(option)).map(button)}
      {children}
      {options.filter(isDecline).map(button)}
    </div>
  );
}

interface AnswerNotesProps {
  readonly id: string;
  readonly options: readonly ConfirmationOption[];
}

/**
 * What the server says about the answers beyond what their buttons do, such as
 * what one covers.
 */
export function AnswerNotes({ id, options }: AnswerNotesProps): ReactNode {
  return options.map((option, index) => {
    const about = aboutOf(option);
    if (about === "") return null;
    return (
      <p key={option.id} id={`${id}-${index}`} className="facts">
        {labelOf(option)}: {about}
      </p>
    );
  });
}

function isDecline({ id }: ConfirmationOption): boolean {
  return reachOfAnswer(id) === "decline";
}

/** Whether the name of an option says no more than that it declines. */
function isPlainDecline({ id, name }: ConfirmationOption): boolean {
  return (id === OPTION_CANCEL || id === OPTION_REJECT) && name === "Decline";
}

function labelOf(option: ConfirmationOption): string {
  const { id, name } = option;
  // An agent may have two options that decline: "Decline" and "Cancel".
  const isTranslated =
    Object.hasOwn(words.options, id) &&
    (id !== OPTION_CANCEL || name.startsWith("Decline"));
  return (isTranslated ? words.options[id] : undefined) ?? visibleText(name);
}

/**
 * Returns what the server says about an option beside its button: its own name
 * where the button has a translation, and what it covers.
 */
function aboutOf(option: ConfirmationOption): string {
  const { name, description = "" } = option;
  return [
    isPlainDecline(option) ? "" : visibleText(name),
    visibleText(description),
  ]
    .filter((text) => text !== "" && text !== labelOf(option))
    .join(" · ");
}
