import {
  callRequest,
  createPolicyEngine,
  createShellAnalyzer,
  digestRules,
  readRules,
} from "@devtool/policy";
import type { PlainCall } from "@devtool/policy/operator";
import { ApprovalMode, stricterMode } from "@devtool/schema";
import type {
  PermissionDecision,
  PermissionPolicy,
  PermissionRequest,
} from "@devtool/server/agent";

/** The rules that answer the permission requests of agents. */
interface AgentRules {
  readonly dataDirectory: string;
  readonly policyFiles?: readonly string[];
  /** Default: every change asks. */
  readonly approvalMode?: ApprovalMode;
}

/**
 * Creates a policy that answers the permission requests of other agents by the
 * rules of this server: those of its policy files and of its approval mode. The
 * user decides calls that no rule matches.
 *
 * A request of an agent is a claim: the agent says which files and which
 * command a call is about. Throws a `PolicyError` for an invalid file.
 */
export async function permissionPolicy({
  dataDirectory,
  policyFiles = [],
  approvalMode = ApprovalMode.DEFAULT,
}: AgentRules): Promise<PermissionPolicy> {
  const { publicRules: rules } = await readRules(dataDirectory, policyFiles);
  const analyze = createShellAnalyzer();
  const basis = { approvalMode, rules: digestRules(rules) };
  const decide: PermissionPolicy = async (request, signal) => {
    const workspace = request.workspacePath;
    // The agent runs its commands itself, outside of our sandbox.
    const mode = stricterMode(approvalMode, request.approvalMode);
    const engine = createPolicyEngine({
      mode,
      workspace,
      rules,
      analyze,
      caller: request.caller,
      shellConfinement: "none",
    });
    const decisions: PermissionDecision[] = [];
    for (const call of plainCalls(request)) {
      const { decision, rule, reason } = await engine.decide(
        callRequest(call),
        signal,
      );
      if (rule === "") {
        decisions.push({ case: "ask" });
      } else {
        decisions.push(
          decision === "ask"
            ? { case: "ask", rule }
            : { case: decision, rule, reason },
        );
      }
    }
    // The strictest counts: a call about several files runs only if it is
    // allowed for each of them.
    return (
      decisions.find((decision) => decision.case === "deny") ??
      decisions.find(
        (decision) => decision.case === "ask" && decision.rule !== undefined,
      ) ??
      decisions.find((decision) => decision.case === "ask") ??
      decisions[0] ?? { case: "ask" }
    );
  };
  return Object.assign(decide, { basis });
}

/**
 * Converts a request to the calls that rules match: one for each file, or one
 * for the whole request.
 */
function plainCalls({
  kind,
  toolName,
  input,
  details,
  paths,
}: PermissionRequest): PlainCall[] {
  if (details?.case === "executeDetails") {
    const { command, workingDirectory } = details.value;
    return [
      {
        case: "command",
        command,
        ...(workingDirectory && { directory: workingDirectory }),
      },
    ];
  }
  const other: PlainCall = { case: "other", tool: toolName, args: input };
  if (paths.length === 0) return [other];
  if (details?.case === "fileEditDetails" || CHANGES.has(kind)) {
    return paths.map((path): PlainCall => ({ case: "edit", path }));
  }
  return kind === "read"
    ? paths.map((path): PlainCall => ({ case: "read", path }))
    : [other];
}

/** The kinds of calls that change files. */
const CHANGES: ReadonlySet<string> = new Set(["edit", "delete", "move"]);
