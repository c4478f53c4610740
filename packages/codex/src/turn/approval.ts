import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import {
  defined,
  isObject,
  listOrEmpty,
  objectOrEmpty,
  stringOrEmpty,
} from "@devtool/internal/json";
import { shellLine } from "@devtool/internal/shell-line";
import { oneLine } from "@devtool/internal/visible-text";
import {
  type ConfirmationOption,
  ConfirmationOptionSchema,
  type ConfirmationRequest,
  ConfirmationRequestSchema,
  ExecuteDetailsSchema,
  type FileDiff,
  GenericDetailsSchema,
  OPTION_CANCEL,
  OPTION_PROCEED_ALWAYS,
  OPTION_PROCEED_ALWAYS_AND_SAVE,
  OPTION_PROCEED_ONCE,
  OPTION_REJECT,
} from "@devtool/schema";
import type { PermissionRequest } from "@devtool/server/agent";
import { type FileChange, unifiedDiff } from "./file-change.ts";
import { elementsOf, wordsOf } from "./odd-value.ts";
import { scriptOf } from "./shell-text.ts";

/** A question of Codex about one call, and what each answer means to it. */
export interface Approval {
  readonly request: ConfirmationRequest;
  /** The result of Codex's request, by the id of the option. */
  readonly results: ReadonlyMap<string, JsonObject>;
}

/** A question whether a call may go on, which a rule can answer. */
export interface CallApproval extends Approval {
  /** The request as the policy rules see it. */
  readonly claim: Pick<PermissionRequest, "kind" | "details" | "paths">;
  /**
   * Whether more is approved than the claim says, such as a connection. A rule
   * can then deny it and not allow it.
   */
  readonly coversMore: boolean;
  /** Whether Codex offers an answer that cannot be read, and is left out. */
  readonly lacksAnswers?: boolean;
}

/**
 * Returns the question whether a command may run; undefined when there is
 * nothing to show.
 */
export function commandApproval(params: JsonObject): CallApproval | undefined {
  const { choices, lacksAnswers } = commandChoices(params);
  const reason = wordsOf(params.reason);
  const command = scriptOf(wordsOf(params.command));
  const notes = commandNotes(params);
  if (command === "" && notes.length === 0) return undefined;
  const workingDirectory = wordsOf(params.cwd) || undefined;
  const value = create(
    ExecuteDetailsSchema,
    defined({ command, workingDirectory }),
  );
  const claim = {
    kind: "execute",
    details: { case: "executeDetails" as const, value },
    paths: [],
  };
  if (command !== "" && notes.length === 0) {
    // Codex asks in the same words for a command in its sandbox and for one
    // outside of it.
    const located = choices.map(({ option, result }) => {
      if (!ALLOWING.has(option.id)) return { option, result };
      return choice(
        option.id,
        `${option.name}, in or outside of Codex's sandbox`,
        result,
        option.description,
      );
    });
    const approval = approvalOf(claim.details, withReason(reason, located));
    return { ...approval, claim, coversMore: false, lacksAnswers };
  }
  // The details of a command have no place for what else is approved with it.
  const where =
    workingDirectory === undefined ? "" : `In ${oneLine(workingDirectory)}:`;
  const words = [...notes, where, command, reasonLine(reason)].filter(
    (word) => word !== "",
  );
  return {
    ...approvalOf(generic(words.join("\n")), choices),
    claim,
    coversMore: true,
    lacksAnswers,
  };
}

/** Returns the answers that Codex offers for a command. */
function commandChoices({
  availableDecisions,
  proposedExecpolicyAmendment,
}: JsonObject): { readonly choices: Choice[]; readonly lacksAnswers: boolean } {
  const offered = [availableDecisions ?? []].flat();
  const save = {
    acceptWithExecpolicyAmendment: {
      execpolicy_amendment: elementsOf(proposedExecpolicyAmendment),
    },
  };
  // Some app-servers do not say which decisions they offer.
  const decisions =
    offered.length > 0
      ? offered
      : ["accept", "acceptForSession", save, "decline", "cancel"];
  const read = decisions.map((decision) =>
    readDecision(decision, "the same command in the same directory"),
  );
  const choices = read.flat();
  const declines = choices.some(
    ({ option }) => option.id === OPTION_REJECT || option.id === OPTION_CANCEL,
  );
  return {
    choices: declines ? choices : [...choices, ...readDecision("cancel", "")],
    lacksAnswers: offered.length > 0 && read.some(({ length }) => length === 0),
  };
}

/**
 * Returns the question whether files may be changed; undefined when there is
 * nothing to show. `diff` is the change, if there is one and it can be shown.
 */
export function fileApproval(
  changes: readonly FileChange[],
  diff: FileDiff | undefined,
  params: JsonObject,
): CallApproval | undefined {
  if (changes.length === 0) return undefined;
  const reason = wordsOf(params.reason);
  const root = wordsOf(params.grantRoot);
  const below = `all changes below ${JSON.stringify(root)}`;
  const choices = ["accept", "acceptForSession", "decline", "cancel"].flatMap(
    (decision) =>
      readDecision(decision, root === "" ? "changes of the same files" : below),
  );
  const paths = changes.flatMap(({ path, movePath }) =>
    movePath === "" ? [path] : [path, movePath],
  );
  const isWhole = root === "" && changes.every(({ kind }) => kind !== "");
  // One question shows one file. More than that are shown as one text, so that
  // nobody approves what they have not seen.
  if (diff && isWhole) {
    const details = { case: "fileEditDetails" as const, value: diff };
    const claim = { kind: "edit", details, paths };
    return {
      ...approvalOf(details, withReason(reason, choices)),
      claim,
      coversMore: false,
    };
  }
  const lines = [
    root === "" ? "" : `Allows ${below}.`,
    reasonLine(reason),
  ].filter((line) => line !== "");
  const details = generic([...lines, unifiedDiff(changes)].join("\n"));
  return {
    ...approvalOf(details, choices),
    claim: { kind: "edit", details, paths },
    coversMore: !isWhole,
  };
}

/**
 * Returns the question whether Codex may have more permissions; undefined when
 * it asks for none.
 */
export function permissionsApproval({
  reason,
  permissions,
}: JsonObject): CallApproval | undefined {
  const asked = objectOrEmpty(permissions);
  const granted = Object.fromEntries(
    Object.entries(asked).filter(([, value]) => value !== null),
  );
  if (Object.keys(granted).length === 0) return undefined;
  const words = [
    `Codex asks for permissions: ${JSON.stringify(granted, undefined, 2)}`,
    reasonLine(wordsOf(reason)),
  ];
  const details = generic(words.filter((word) => word !== "").join("\n"));
  const choices = [
    choice(OPTION_PROCEED_ONCE, "Allow once, for this turn", {
      permissions: granted,
      scope: "turn",
    }),
    choice(
      OPTION_PROCEED_ALWAYS,
      IN_SESSION,
      { permissions: granted, scope: "session" },
      "these permissions, in later turns too",
    ),
    choice(OPTION_CANCEL, "Decline", { permissions: {}, scope: "turn" }),
  ];
  return {
    ...approvalOf(details, choices),
    claim: { kind: "other", details, paths: [] },
    coversMore: true,
  };
}

/** An option of a question. */
export interface Choice {
  readonly option: ConfirmationOption;
  readonly result: JsonObject;
}

/** Creates an option of a question. */
export function choice(
  id: string,
  name: string,
  result: JsonObject,
  description?: string,
): Choice {
  return {
    option: create(
      ConfirmationOptionSchema,
      defined({ id, name, description }),
    ),
    result,
  };
}

/** Creates the details of a question in words. */
export function generic(description: string): ConfirmationRequest["details"] {
  return {
    case: "genericDetails",
    value: create(GenericDetailsSchema, { description }),
  };
}

/** Creates a question with options. */
export function approvalOf(
  details: ConfirmationRequest["details"],
  choices: readonly Choice[],
): Approval {
  const results = new Map<string, JsonObject>();
  const options: ConfirmationOption[] = [];
  for (const { option, result } of choices) {
    // Codex may offer several amendments of a kind: each needs an id of its
    // own.
    const id = results.has(option.id)
      ? `${option.id}:${results.size}`
      : option.id;
    results.set(id, result);
    options.push({ ...option, id });
  }
  return {
    request: create(ConfirmationRequestSchema, { options, details }),
    results,
  };
}

/**
 * Returns what is approved together with a command; nothing for a command
 * alone.
 */
function commandNotes(params: JsonObject): string[] {
  const { networkApprovalContext: network, additionalPermissions } = params;
  const { host, protocol } = objectOrEmpty(network);
  const kind = wordsOf(params.kind);
  const permissions = JSON.stringify(
    additionalPermissions ?? null,
    undefined,
    2,
  );
  // A rule reads texts.
  const isText = [params.command ?? "", params.cwd ?? ""].every(
    (value) => typeof value === "string",
  );
  const to =
    typeof host === "string"
      ? oneLine(`${host} (${wordsOf(protocol)})`)
      : wordsOf(network);
  return [
    to === "" ? "" : `Connects to ${to}.`,
    permissions === "null" ? "" : `With the permissions ${permissions}.`,
    kind === "" || kind === "command"
      ? ""
      : (KINDS.get(kind) ?? `Codex asks for ${JSON.stringify(kind)}.`),
    isText ? "" : "The command or its directory is not a text.",
  ].filter((note) => note !== "");
}

/** What is approved with a command of each kind but the usual one. */
const KINDS: ReadonlyMap<string, string> = new Map([
  ["humanCommand", "Codex requires the decision of a person."],
  ["writeStdin", "Writes to the input of a running command."],
]);

const ALLOWING: ReadonlySet<string> = new Set([
  OPTION_PROCEED_ONCE,
  OPTION_PROCEED_ALWAYS,
  OPTION_PROCEED_ALWAYS_AND_SAVE,
]);

/**
 * Adds Codex's reason to the option that allows a call once, or else to the
 * first one, where the details of the question have no place for it.
 */
function withReason(
  reason: string,
  choices: readonly Choice[],
): readonly Choice[] {
  if (reason === "") return choices;
  const once = choices.findIndex(
    ({ option }) => option.id === OPTION_PROCEED_ONCE,
  );
  return choices.map(({ option, result }, at) => {
    const { id, name, description = "" } = option;
    if (at !== Math.max(0, once)) return { option, result };
    const words = [description, reasonLine(reason)].filter(
      (each) => each !== "",
    );
    return choice(id, name, result, words.join("; "));
  });
}

/** Returns Codex's reason on a line of its own, which hides no other line. */
function reasonLine(reason: string): string {
  return reason === "" ? "" : `Codex's reason: ${JSON.stringify(reason)}`;
}

/** The name of the answer that also allows such calls later in the session. */
export const IN_SESSION = "Always allow in this session";
/** What Codex does with an answer for good. */
export const SAVED =
  "Codex keeps it in its configuration, for later sessions too";

/**
 * Reads a decision that Codex offers. Empty for a decision that is unknown: it
 * is not offered.
 *
 * @param covers what else is allowed for the rest of the session
 */
function readDecision(decision: JsonValue, covers: string): Choice[] {
  switch (decision) {
    case "accept":
      return [choice(OPTION_PROCEED_ONCE, "Allow once", { decision })];
    case "acceptForSession":
      return [choice(OPTION_PROCEED_ALWAYS, IN_SESSION, { decision }, covers)];
    case "decline":
      return [
        choice(
          OPTION_REJECT,
          "Decline",
          { decision },
          "Codex goes on without it.",
        ),
      ];
    case "cancel":
      return [
        choice(
          OPTION_CANCEL,
          "Cancel",
          { decision },
          "Codex stops and waits for your next message.",
        ),
      ];
  }
  if (!isObject(decision)) return [];
  const {
    acceptWithExecpolicyAmendment: exec,
    applyNetworkPolicyAmendment: network,
  } = decision;
  // The answer has what its name says, and nothing else of the decision.
  if (isObject(exec)) {
    const words = listOrEmpty(exec.execpolicy_amendment).map(stringOrEmpty);
    if (words.length === 0 || words.includes("")) return [];
    const prefix = scriptOf(shellLine(words));
    return [
      choice(
        OPTION_PROCEED_ALWAYS_AND_SAVE,
        `Always allow commands that begin with ${JSON.stringify(prefix)}`,
        {
          decision: {
            acceptWithExecpolicyAmendment: { execpolicy_amendment: words },
          },
        },
        SAVED,
      ),
    ];
  }
  if (!isObject(network)) return [];
  const { host, action } = objectOrEmpty(network.network_policy_amendment);
  if (typeof host !== "string" || (action !== "allow" && action !== "deny")) {
    return [];
  }
  return [
    choice(
      `${action}_host_and_save`,
      `Always ${action} connections to ${JSON.stringify(host)}`,
      {
        decision: {
          applyNetworkPolicyAmendment: {
            network_policy_amendment: { host, action },
          },
        },
      },
      SAVED,
    ),
  ];
}
