import {
  type ConfirmationOption,
  OPTION_CANCEL,
  OPTION_REJECT,
  reachOfAnswer,
  visibleText,
} from "@devtool/schema";
import { type ReactNode, useId } from "react";
import { words } from "./words.ts";

export interface AnswersProps {
  readonly options: readonly ConfirmationOption[];
  /** Whether an answer counts now. */
  readonly isReady: boolean;
  /** Whether the user has changed what the call writes. */
  readonly isEdited: boolean;
  readonly onChoose: (optionId: string) => void;
}

/**
 * The answers to a question. Where the server says more about one than its
 * button does, such as what it covers, the words stand below.
 */
export function Answers({
  options,
  isReady,
  isEdited,
  onChoose,
}: AnswersProps): ReactNode {
  const list = useId();
  return (
    <>
      <div className="options">
        {options.map((option, index) => (
          <button
            key={option.id}
            type="button"
            className={
              isDecline(option)
                ? "decline"
                : index === 0
                  ? "primary"
                  : undefined
            }
            // Not `disabled`, which would take the focus from a button that is
            // to be used in a moment.
            aria-disabled={!isReady}
            aria-describedby={
              aboutOf(option) === "" ? undefined : `${list}-${index}`
            }
            onClick={() => isReady && onChoose(option.id)}
          >
            {labelOf(option)}
            {isEdited && !isDecline(option) && ` (${words.edited})`}
          </button>
        ))}
      </div>
      {options.map((option, index) => {
        const about = aboutOf(option);
        if (about === "") return null;
        return (
          <p key={option.id} id={`${list}-${index}`} className="facts">
            {labelOf(option)}: {about}
          </p>
        );
      })}
    </>
  );
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
