import {
  ApprovalMode,
  ApprovalPolicy,
  SandboxPolicy,
  type TurnSettings,
} from "@devtool/schema";

/** What the sandbox of Codex allows. */
export type SandboxMode = "read-only" | "workspace-write";

/** What Codex may do in a turn. */
export interface TurnRights {
  /** When Codex asks. */
  readonly approvalPolicy: "untrusted" | "on-request" | "never";
  readonly sandbox: SandboxMode;
  /** The approval mode that stands for both, for the permission policy. */
  readonly mode: ApprovalMode;
}

/**
 * Returns the rights of a session, narrowed by the settings of a turn; what is
 * wider there has no effect.
 *
 * To ask less is narrower only where nothing can be approved then: with `never`
 * in a sandbox that only reads.
 */
export function narrowRights(
  session: TurnRights,
  turn: TurnSettings | undefined,
): TurnRights {
  if (!turn || session.sandbox === "read-only") return session;
  const sandbox =
    turn.sandboxPolicy === SandboxPolicy.READ_ONLY
      ? "read-only"
      : session.sandbox;
  const approvalPolicy = narrowPolicy(
    session.approvalPolicy,
    turn.approvalPolicy,
    sandbox,
  );
  const isReadOnly = sandbox === "read-only";
  let mode = ApprovalMode.DEFAULT;
  if (approvalPolicy === "never") {
    mode = isReadOnly ? ApprovalMode.PLAN : ApprovalMode.YOLO;
  } else if (approvalPolicy === "on-request" && !isReadOnly) {
    mode = ApprovalMode.AUTO_EDIT;
  }
  return { approvalPolicy, sandbox, mode };
}

function narrowPolicy(
  session: TurnRights["approvalPolicy"],
  turn: ApprovalPolicy,
  sandbox: SandboxMode,
): TurnRights["approvalPolicy"] {
  switch (turn) {
    case ApprovalPolicy.UNSPECIFIED:
      return session;
    case ApprovalPolicy.UNTRUSTED:
      return "untrusted";
    case ApprovalPolicy.ON_REQUEST:
      return session === "untrusted" ? session : "on-request";
    case ApprovalPolicy.NEVER:
      return sandbox === "read-only" ? "never" : session;
    default:
      return turn satisfies never;
  }
}
