import type {
  PermissionOption,
  RequestPermissionOutcome,
} from "@agentclientprotocol/sdk";
import { create } from "@bufbuild/protobuf";
import {
  type ConfirmationOption,
  ConfirmationOptionSchema,
  OPTION_CANCEL,
  OPTION_PROCEED_ALWAYS,
  OPTION_PROCEED_ONCE,
  OPTION_PROCEED_WITHOUT_SANDBOX,
  oneLine,
} from "@devtool/schema";

/**
 * The maximum number of options that are offered besides the one that declines.
 */
const MAX_OPTIONS = 20;
/** The maximum length of an option's name, in characters. */
const MAX_NAME_LENGTH = 200;

/**
 * How far an option goes: this call, later calls too, or this call outside of
 * the agent's sandbox.
 */
export type Reach = "once" | "always" | "without_sandbox";

/**
 * The ids and the default names of options by how far they go, in the order in
 * which they are offered.
 */
const OFFERED: readonly {
  readonly reach: Reach;
  readonly id: string;
  readonly name: string;
}[] = [
  { reach: "once", id: OPTION_PROCEED_ONCE, name: "Allow" },
  { reach: "always", id: OPTION_PROCEED_ALWAYS, name: "Always allow" },
  {
    reach: "without_sandbox",
    id: OPTION_PROCEED_WITHOUT_SANDBOX,
    name: "Allow without a sandbox",
  },
];

/**
 * An option of an agent that allows, and the id and the name under which our
 * user chooses it.
 */
interface Choice {
  readonly id: string;
  readonly name: string;
  readonly reach: Reach;
  readonly optionId: string;
}

/**
 * The options of a permission request: shown with our ids by their kinds,
 * answered with the agent's ids as they are.
 */
export class PermissionOptions {
  readonly #choices: readonly Choice[];
  readonly #reject: PermissionOption | undefined;

  constructor(options: readonly PermissionOption[]) {
    // Of options with the same id the first is kept, and none if they differ in
    // kind: an answer with that id would be ambiguous.
    const usable = [
      ...Map.groupBy(options, ({ optionId }) => optionId).values(),
    ].flatMap(([first, ...others]) =>
      first && others.every(({ kind }) => kind === first.kind) ? [first] : [],
    );
    this.#reject =
      usable.find(({ kind }) => kind === "reject_once") ??
      usable.find(({ kind }) => kind === "reject_always");
    this.#choices = OFFERED.flatMap(({ reach, id, name }) =>
      usable
        .filter((option) => reachOf(option) === reach)
        .map(({ optionId, name: given }, index) => ({
          // Several options that go equally far differ by the agent's id.
          id: index === 0 ? id : `${id}:${optionId}`,
          name: oneLine(given, MAX_NAME_LENGTH) || name,
          reach,
          optionId,
        })),
    ).slice(0, MAX_OPTIONS);
  }

  /** The options for our user. The last one declines. */
  get shown(): ConfirmationOption[] {
    const decline = {
      id: OPTION_CANCEL,
      name: oneLine(this.#reject?.name ?? "", MAX_NAME_LENGTH) || "Decline",
    };
    return [...this.#choices, decline].map(({ id, name }) =>
      create(ConfirmationOptionSchema, { id, name }),
    );
  }

  /**
   * The answer that stands for an option of our user. An option that is not
   * offered this time declines.
   */
  outcome(id: string): RequestPermissionOutcome {
    const chosen =
      this.#choices.find((choice) => choice.id === id) ?? this.#reject;
    return chosen
      ? { outcome: "selected", optionId: chosen.optionId }
      : { outcome: "cancelled" };
  }

  /** How far an answer goes; undefined for one that does not allow. */
  reachOf(answer: RequestPermissionOutcome): Reach | undefined {
    if (answer.outcome === "cancelled") return undefined;
    return this.#choices.find(({ optionId }) => optionId === answer.optionId)
      ?.reach;
  }

  /**
   * The answer that allows this call and no other; undefined when the agent
   * offers none.
   */
  get allowed(): RequestPermissionOutcome | undefined {
    const once = this.#choices.find(({ reach }) => reach === "once");
    return once && { outcome: "selected", optionId: once.optionId };
  }

  get rejected(): RequestPermissionOutcome {
    return this.outcome(OPTION_CANCEL);
  }
}

const WITHOUT_SANDBOX =
  /\b(without|no|outside|disable|bypass|skip)\b.{0,20}\bsandbox|\bunsandboxed\b/;
const WIDER =
  /\b(always|session|task|forever|all|every\w*|bypass|skip|escalat\w*|unrestricted|yolo|full access|don'?t ask)\b/;

/**
 * Returns how far an option goes; undefined for one that does not allow, and
 * for a kind that we do not know.
 *
 * An agent may declare an option that goes further as `allow_once`. Its id and
 * its name are read for that, so that neither a policy nor a client that
 * approves by itself chooses it in place of a plain one.
 */
function reachOf({
  kind,
  optionId,
  name,
}: PermissionOption): Reach | undefined {
  if (kind !== "allow_once" && kind !== "allow_always") return undefined;
  const words = [
    optionId.replaceAll(/([a-z])([A-Z])/g, "$1 $2").replaceAll(/[_-]/g, " "),
    name,
  ].map((text) => text.toLowerCase());
  if (words.some((text) => WITHOUT_SANDBOX.test(text))) {
    return "without_sandbox";
  }
  return kind === "allow_always" || words.some((text) => WIDER.test(text))
    ? "always"
    : "once";
}
