import { fromBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { stricterMode } from "./approval-mode.ts";
import {
  ApprovalMode,
  SessionSettingsSchema,
} from "./gen/devtool/v1alpha/session_settings_pb.ts";

const { PLAN, DEFAULT, YOLO, UNSPECIFIED } = ApprovalMode;
const unknown = fromBinary(
  SessionSettingsSchema,
  new Uint8Array([0x10, 99]),
).approvalMode;

describe("the mode of a session", () => {
  it.each([
    ["the session's when it is stricter", YOLO, PLAN, PLAN],
    ["the operator's when the session's is freer", DEFAULT, YOLO, DEFAULT],
    ["the operator's when the session names none", YOLO, UNSPECIFIED, YOLO],
    ["the operator's when the session's is unknown", PLAN, unknown, PLAN],
    ["the default when neither names one", UNSPECIFIED, UNSPECIFIED, DEFAULT],
  ])("is %s (SESSION-3)", (_what, operator, session, mode) => {
    expect(stricterMode(operator, session)).toBe(mode);
  });
});
