import type { PermissionOption, RequestPermissionOutcome } from "@agentclientprotocol/sdk";
import { create } from "@bufbuild/protobuf";
import {
  type ConfirmationOption,
  ConfirmationOptionSchema,
  OPTION_CANCEL,
  OPTION_PROCEED_ALWAYS,
  OPTION_PROCEED_ONCE,
} from "@devtool/schema";

/** An option of an agent, and the id under which our user chooses it. */
interface Choice {
  readonly id: string;
  readonly option: PermissionOption;
}

const IDS: ReadonlyMap<string, string> = new Map([
  ["allow_once", OPTION_PROCEED_ONCE],
  ["allow_always", OPTION_PROCEED_ALWAYS],
]);

/** The options of a permission request: shown with our ids by their kinds, answered with the agent's ids as they are. */
export class PermissionOptions {
  readonly #choices: readonly Choice[];
  readonly #reject: PermissionOption | undefined;

  constructor(options: readonly PermissionOption[]) {
    const kindOf = (kind: string): PermissionOption[] => options.filter((option) => option.kind === kind);
    this.#reject = kindOf("reject_once")[0] ?? kindOf("reject_always")[0];
    this.#choices = [...IDS].flatMap(([kind, id]) =>
      // Several options of a kind differ by the agent's id.
      kindOf(kind).map((option, index) => ({ id: index === 0 ? id : `${id}:${option.optionId}`, option })),
    );
  }

  /** The options for our user. The last one declines. */
  get shown(): ConfirmationOption[] {
    const decline = create(ConfirmationOptionSchema, { id: OPTION_CANCEL, name: this.#reject?.name ?? "Decline" });
    return [
      ...this.#choices.map(({ id, option }) => create(ConfirmationOptionSchema, { id, name: option.name })),
      decline,
    ];
  }

  /** The answer that stands for an option of our user. An option that is not offered this time declines. */
  outcome(id: string): RequestPermissionOutcome {
    const chosen = this.#choices.find((choice) => choice.id === id)?.option ?? this.#reject;
    return chosen ? { outcome: "selected", optionId: chosen.optionId } : { outcome: "cancelled" };
  }

  /** The answer that allows the call this time; undefined when the agent offers none. */
  get allowed(): RequestPermissionOutcome | undefined {
    const [once] = this.#choices;
    return once && { outcome: "selected", optionId: once.option.optionId };
  }

  /** The kind of the option that an answer chooses; empty for none. */
  kindOf(answer: RequestPermissionOutcome): string {
    if (answer.outcome === "cancelled") return "";
    const chosen = this.#choices.find(({ option }) => option.optionId === answer.optionId);
    return chosen?.option.kind ?? "";
  }

  get rejected(): RequestPermissionOutcome {
    return this.outcome(OPTION_CANCEL);
  }
}
