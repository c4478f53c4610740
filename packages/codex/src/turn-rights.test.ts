import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { ApprovalMode, ApprovalPolicy, SandboxPolicy } from "@devtool/schema";
import { TurnSettingsSchema } from "@devtool/schema/testing";
import { describe, expect, it } from "vitest";
import { narrowRights, type TurnRights } from "./turn-rights.ts";

const PLAN = {
  approvalPolicy: "never",
  sandbox: "read-only",
  mode: ApprovalMode.PLAN,
} as const;
const DEFAULT = {
  approvalPolicy: "untrusted",
  sandbox: "workspace-write",
  mode: ApprovalMode.DEFAULT,
} as const;
const AUTO_EDIT = {
  approvalPolicy: "on-request",
  sandbox: "workspace-write",
  mode: ApprovalMode.AUTO_EDIT,
} as const;
const YOLO = {
  approvalPolicy: "never",
  sandbox: "workspace-write",
  mode: ApprovalMode.YOLO,
} as const;
const SESSIONS: readonly TurnRights[] = [PLAN, DEFAULT, AUTO_EDIT, YOLO];

const { UNTRUSTED, ON_REQUEST, NEVER } = ApprovalPolicy;
const { READ_ONLY, WORKSPACE_WRITE } = SandboxPolicy;

describe("the rights of one turn", () => {
  it("are those of the session without settings, and with empty ones", () => {
    for (const session of SESSIONS) {
      expect(narrowRights(session, undefined)).toEqual(session);
      expect(narrowRights(session, turn({}))).toEqual(session);
    }
  });

  it.each([
    [AUTO_EDIT, { approvalPolicy: UNTRUSTED }, DEFAULT],
    [YOLO, { approvalPolicy: UNTRUSTED }, DEFAULT],
    [YOLO, { approvalPolicy: ON_REQUEST }, AUTO_EDIT],
    [YOLO, { sandboxPolicy: READ_ONLY }, PLAN],
    [DEFAULT, { approvalPolicy: NEVER, sandboxPolicy: READ_ONLY }, PLAN],
    [AUTO_EDIT, { approvalPolicy: NEVER, sandboxPolicy: READ_ONLY }, PLAN],
    [
      DEFAULT,
      { sandboxPolicy: READ_ONLY },
      { ...DEFAULT, sandbox: "read-only" },
    ],
    [
      AUTO_EDIT,
      { sandboxPolicy: READ_ONLY },
      { ...DEFAULT, approvalPolicy: "on-request", sandbox: "read-only" },
    ],
  ] as const)(
    "are narrower where the settings are: %j with %j",
    (session, settings, narrowed) => {
      expect(narrowRights(session, turn(settings))).toEqual(narrowed);
    },
  );

  it.each([
    [DEFAULT, { approvalPolicy: NEVER }],
    [DEFAULT, { approvalPolicy: NEVER, sandboxPolicy: WORKSPACE_WRITE }],
    [DEFAULT, { approvalPolicy: ON_REQUEST }],
    [AUTO_EDIT, { approvalPolicy: NEVER }],
    [PLAN, { approvalPolicy: UNTRUSTED, sandboxPolicy: WORKSPACE_WRITE }],
    [PLAN, { approvalPolicy: ON_REQUEST }],
  ] as const)(
    "are those of the session where the settings are wider: %j with %j",
    (session, settings) => {
      expect(narrowRights(session, turn(settings))).toEqual(session);
    },
  );

  it("are never wider than those of the session, whatever the settings", () => {
    for (const session of SESSIONS) {
      for (const approvalPolicy of [
        ApprovalPolicy.UNSPECIFIED,
        UNTRUSTED,
        ON_REQUEST,
        NEVER,
      ]) {
        for (const sandboxPolicy of [
          SandboxPolicy.UNSPECIFIED,
          READ_ONLY,
          WORKSPACE_WRITE,
        ]) {
          const rights = narrowRights(
            session,
            turn({ approvalPolicy, sandboxPolicy }),
          );
          expect(unasked(rights)).toBeLessThanOrEqual(unasked(session));
          if (session === PLAN) expect(rights).toEqual(PLAN);
        }
      }
    }
  });
});

function turn(settings: MessageInitShape<typeof TurnSettingsSchema>) {
  return create(TurnSettingsSchema, settings);
}

/**
 * What runs without a question: what only reads (0), changes within the sandbox
 * (1).
 */
function unasked({ approvalPolicy, sandbox }: TurnRights): number {
  return sandbox === "workspace-write" && approvalPolicy !== "untrusted"
    ? 1
    : 0;
}
