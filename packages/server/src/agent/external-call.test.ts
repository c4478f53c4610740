import { create } from "@bufbuild/protobuf";
import {
  ConfirmationRequestSchema,
  ToolCallSchema,
  ToolCallStage,
} from "@devtool/schema";
import { beforeEach, describe, expect, it } from "vitest";
import type { CallUpdate } from "./call-update.ts";
import {
  ANSWERED,
  CANCELLED,
  ExternalCall,
  failedCall,
} from "./external-call.ts";

const REQUEST = create(ConfirmationRequestSchema, {
  details: { case: "genericDetails", value: { description: "make" } },
});
const FAILED = failedCall("execution_failed", "it broke");
const described = create(ToolCallSchema, {
  toolCallId: "c1",
  toolName: "shell",
  description: "make",
  inputParameters: { command: "make" },
});

describe("a call that another program runs", () => {
  let last: CallUpdate | undefined;
  const call = new ExternalCall({
    described: () => described,
    recorded: () => last,
  });
  beforeEach(() => {
    last = undefined;
  });

  /** Records versions and returns the stages that the call goes through. */
  function take(updates: readonly CallUpdate[]): string[] {
    return updates.map((update) => {
      last = update;
      return ToolCallStage[call.stage] ?? "";
    });
  }

  it.each([
    { what: "is reported to run", makes: () => call.executing() },
    { what: "has output", makes: () => call.executing("compiling") },
  ])(
    "that $what without a question was its program's decision",
    ({ makes }) => {
      const [scheduled] = makes();
      expect(scheduled?.detail).toMatchObject({
        stage: ToolCallStage.SCHEDULED,
        rule: "agent",
      });
      expect(take(makes())).toEqual(["SCHEDULED", "EXECUTING"]);
    },
  );

  it("executes before it succeeds, and is announced before it fails", () => {
    expect(take(call.ended(ANSWERED))).toEqual([
      "SCHEDULED",
      "EXECUTING",
      "SUCCEEDED",
    ]);
    last = undefined;
    expect(take(call.ended(FAILED))).toEqual(["VALIDATING", "FAILED"]);
  });

  it("does not run while its user is asked, and failed if its program did not wait", () => {
    expect(take(call.asking(REQUEST))).toEqual(["AWAITING_APPROVAL"]);
    expect(call.executing("compiling")).toEqual([]);
    expect(call.allowed("a rule", "a reason")).toEqual([]);
    const [end] = call.ended(ANSWERED);
    expect(end?.call.result).toMatchObject({
      case: "error",
      value: { message: expect.stringContaining("without waiting") },
    });
  });

  it("asks by a call of its own once it runs", () => {
    take(call.executing());
    expect(call.asking(REQUEST)).toEqual([]);
    const [question] = call.askingApart("c1?", REQUEST);
    expect(question?.call).toMatchObject({
      toolCallId: "c1?",
      confirmationRequest: REQUEST,
    });
    expect(question?.detail).toMatchObject({
      parentToolCallId: "c1",
      digest: call.digest(REQUEST),
    });
  });

  it.each([ANSWERED, FAILED, CANCELLED])(
    "stays as it ended, whatever is reported: $status",
    (end) => {
      take(call.ended(end));
      expect([
        call.announced(),
        call.allowed("a rule", "a reason"),
        call.asking(REQUEST),
        call.executing(),
        call.ended(FAILED),
      ]).toEqual([[], [], [], [], []]);
    },
  );

  it("says once that it runs, and each output once", () => {
    take(call.executing("one"));
    expect(call.executing("one")).toEqual([]);
    expect(take(call.executing("two"))).toEqual(["EXECUTING"]);
    expect(last?.call.liveContent).toBe("two");
  });

  it("names who decided that it may not run", () => {
    take(call.announced());
    const decision = { rule: "deny make", reason: "not here" };
    const [denied] = call.ended(
      failedCall("policy_violation", "not here"),
      decision,
    );
    expect(denied?.detail).toMatchObject({
      ...decision,
      stage: ToolCallStage.FAILED,
    });
  });
});
