import { describe, expect, it } from "vitest";
import { MESSAGE_SETTINGS_URI, SESSION_SETTINGS_URI } from "../extension.ts";
import { decodeCommandPlace } from "./command-params.ts";

describe("the place of a slash command (CMD-1)", () => {
  it("has the settings of a session", () => {
    const metadata = {
      [SESSION_SETTINGS_URI]: { approvalMode: "APPROVAL_MODE_PLAN" },
    };
    expect(decodeCommandPlace({ metadata }).sessionSettings).toMatchObject({
      approvalMode: 2,
    });
  });

  it("refuses settings of a single message, such as a sandbox, which a command would not have", () => {
    const metadata = {
      [MESSAGE_SETTINGS_URI]: {
        turn: { sandboxPolicy: "SANDBOX_POLICY_READ_ONLY" },
      },
    };
    expect(() => decodeCommandPlace({ metadata })).toThrow(
      `metadata "${MESSAGE_SETTINGS_URI}" is for messages: leave it out, or send a message`,
    );
  });
});
