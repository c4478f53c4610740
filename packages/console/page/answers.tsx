import {
  type ConfirmationOption,
  OPTION_CANCEL,
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
              option.id === OPTION_CANCEL
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
            {isEdited && option.id !== OPTION_CANCEL && ` (${words.edited})`}
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

function labelOf({ id, name }: ConfirmationOption): string {
  return (
    (Object.hasOwn(words.options, id) ? words.options[id] : undefined) ??
    visibleText(name)
  );
}

/**
 * Returns what the server says about an option beside its button: its own name
 * where the button has a translation, and what it covers.
 */
function aboutOf(option: ConfirmationOption): string {
  const { id, name, description = "" } = option;
  if (id === OPTION_CANCEL) return "";
  return [visibleText(name), visibleText(description)]
    .filter((text) => text !== "" && text !== labelOf(option))
    .join(" · ");
}
