import type {
  PermissionOption,
  RequestPermissionOutcome,
} from "@agentclientprotocol/sdk";
import { create } from "@bufbuild/protobuf";
import { idEnding } from "@devtool/internal/id-ending";
import { defined, objectOrEmpty } from "@devtool/internal/json";
import {
  answerName,
  type ConfirmationOption,
  ConfirmationOptionSchema,
  OPTION_CANCEL,
  OPTION_PROCEED_ALWAYS,
  OPTION_PROCEED_ONCE,
  OPTION_PROCEED_WITHOUT_SANDBOX,
} from "@devtool/schema";
import { wordsOf } from "./form-field.ts";

/**
 * The maximum number of options that are offered besides the one that declines.
 */
const MAX_OPTIONS = 20;

/**
 * How far an option goes: this call, later calls too, or this call outside of
 * the agent's sandbox.
 */
export type Reach = "once" | "always" | "without_sandbox";

/**
 * The ids and the labels of options by how far they go, in the order in which
 * they are offered.
 */
const OFFERED: readonly {
  readonly reach: Reach;
  readonly id: string;
  readonly label: string;
}[] = [
  { reach: "once", id: OPTION_PROCEED_ONCE, label: "Allow once" },
  { reach: "always", id: OPTION_PROCEED_ALWAYS, label: "Always allow" },
  {
    reach: "without_sandbox",
    id: OPTION_PROCEED_WITHOUT_SANDBOX,
    label: "Allow without a sandbox",
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
  readonly kind: PermissionOption["kind"];
  readonly optionId: string;
}

/**
 * The options of a permission request: shown with our ids and labels by their
 * kinds, answered with the agent's ids as they are. What the agent calls them
 * stands behind the label, in quotes.
 */
export class PermissionOptions {
  readonly #choices: readonly Choice[];
  readonly #reject: PermissionOption | undefined;
  /** The options of the agent that cannot be used, or are too many. */
  readonly leftOut: readonly unknown[];

  /** @param offered what the agent sends as options, which may be anything */
  constructor(offered: unknown) {
    const sent: unknown[] = [offered ?? []].flat();
    // Of options with the same id the first is kept, and none if they differ in
    // kind or go differently far: an answer with that id would be ambiguous.
    const usable = [
      ...Map.groupBy(sent, (each) => objectOrEmpty(each).optionId).values(),
    ].flatMap((same) => {
      const [first, ...others] = same.map(optionFrom);
      const isClear = others.every(
        (other) =>
          other?.kind === first?.kind &&
          (first && reachOf(first)) === (other && reachOf(other)),
      );
      return first && isClear ? [first] : [];
    });
    this.#reject =
      usable.find(({ kind }) => kind === "reject_once") ??
      usable.find(({ kind }) => kind === "reject_always");
    this.#choices = OFFERED.flatMap(({ reach, id, label }) => {
      const equal = usable
        .filter((option) => reachOf(option) === reach)
        .slice(0, MAX_OPTIONS);
      return equal.map((option, index) => ({
        // Several options that go equally far differ by the agent's id.
        id: index === 0 ? id : `${id}:${idEnding(option.optionId, index)}`,
        name: answerName(
          labelOf(label, option.kind),
          equal.length === 1 ? option.name : distinctWords(option, equal),
        ),
        reach,
        kind: option.kind,
        optionId: option.optionId,
      }));
    }).slice(0, MAX_OPTIONS);
    const kept = usable.filter(
      (option) =>
        reachOf(option) === undefined ||
        this.#choices.some(({ optionId }) => optionId === option.optionId),
    );
    const keptKeys = new Set(kept.map((option) => JSON.stringify(option)));
    this.leftOut = sent.filter(
      (each) => !keptKeys.has(JSON.stringify(optionFrom(each))),
    );
  }

  /**
   * Returns the options for our user. The last one declines.
   *
   * @param covers what our client does unasked after an answer that always
   * allows; empty for nothing
   */
  shown(covers: string): ConfirmationOption[] {
    const allowing = this.#choices.map(({ id, name, reach, kind }) =>
      create(
        ConfirmationOptionSchema,
        defined({
          id,
          name,
          description:
            reach === "always" || kind === "allow_always"
              ? [reach === "always" ? covers : "", AGENT_DECIDES]
                  .filter(Boolean)
                  .join("; ")
              : undefined,
        }),
      ),
    );
    const isLasting = this.#reject?.kind === "reject_always";
    const lasting = isLasting ? AGENT_DECIDES : undefined;
    const decline = create(
      ConfirmationOptionSchema,
      defined({
        id: OPTION_CANCEL,
        name: answerName(
          isLasting ? "Always decline" : "Decline",
          this.#reject?.name ?? "",
        ),
        description: this.#choices.length === 0 ? NO_WAY : lasting,
      }),
    );
    return [...allowing, decline];
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
   * offers none, or several, between which its user chooses.
   */
  get allowed(): RequestPermissionOutcome | undefined {
    const [once, ...others] = this.#choices.filter(
      ({ reach }) => reach === "once",
    );
    return once && others.length === 0
      ? { outcome: "selected", optionId: once.optionId }
      : undefined;
  }

  get rejected(): RequestPermissionOutcome {
    return this.outcome(OPTION_CANCEL);
  }
}

const WITHOUT_SANDBOX =
  /\b(without|no|outside|disable|bypass|skip)\b.{0,20}\bsandbox|\bunsandboxed\b/;
const WIDER =
  /\b(always|session|task|conversation|forever|permanent\w*|for good|similar|until|prefix\w*|start\w* with|from now on|remember|future|all|every\w*|bypass|skip|escalat\w*|unrestricted|yolo|full access|(don['’]?t|do not|never|stop) ask\w*)\b/;

/** What an answer for later calls means to the agent, which only it knows. */
const AGENT_DECIDES = "the agent decides which later calls it covers";

/** What the answer that declines says where it is the only one. */
const NO_WAY = "the agent offers no way to approve it";

const KINDS: readonly PermissionOption["kind"][] = [
  "allow_once",
  "allow_always",
  "reject_once",
  "reject_always",
];

/** Returns an option with an id and a kind of ACP; undefined for any other. */
function optionFrom(sent: unknown): PermissionOption | undefined {
  const { optionId, kind: given, name } = objectOrEmpty(sent);
  const kind = KINDS.find((known) => known === given);
  return kind && typeof optionId === "string" && optionId.isWellFormed()
    ? { optionId, kind, name: wordsOf(name) }
    : undefined;
}

/** Returns the label of an option that goes further than its id says. */
function labelOf(label: string, kind: PermissionOption["kind"]): string {
  return kind === "allow_always" && !label.startsWith("Always")
    ? `Always ${label.toLowerCase()}`
    : label;
}

/**
 * Returns the words of an option that goes as far as others: with its id, where
 * another has the same.
 */
function distinctWords(
  { name, optionId }: PermissionOption,
  equal: readonly PermissionOption[],
): string {
  const same = equal.filter((other) => other.name.trim() === name.trim());
  return same.length === 1 ? name : `${name} (${optionId})`.trim();
}

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
  ].map((text) =>
    text
      .normalize("NFKC")
      .replaceAll(/\p{Cf}/gu, "")
      .toLowerCase(),
  );
  if (words.some((text) => WITHOUT_SANDBOX.test(text))) {
    return "without_sandbox";
  }
  return kind === "allow_always" || words.some((text) => WIDER.test(text))
    ? "always"
    : "once";
}
