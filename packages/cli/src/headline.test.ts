import { create } from "@bufbuild/protobuf";
import { ApprovalMode, ListedAgentSchema } from "@devtool/schema";
import { ServerInfoSchema } from "@devtool/schema/operator";
import { describe, expect, it } from "vitest";
import { headline } from "./headline.ts";

const info = create(ServerInfoSchema, {
  agent: "Publisher",
  approvalMode: ApprovalMode.DEFAULT,
  workspace: "/w",
});
const address = { url: "http://127.0.0.1:1", token: "", info };

describe("the first line of a chat", () => {
  it("names agent, workspace, model and mode", () => {
    const thinking = {
      ...address,
      info: { ...info, model: "gemini-pro-latest" },
    };
    expect(headline(thinking, { workspace: "/p" }, [])).toBe(
      "agent Publisher · workspace /p · model gemini-pro-latest · mode default (asks before every change)",
    );
  });

  it("names the model and the mode that the command line gives the session", () => {
    expect(
      headline(
        address,
        { model: "gemini-pro-latest", approvalMode: "plan" },
        [],
      ),
    ).toBe(
      "agent Publisher · workspace /w · model gemini-pro-latest · mode plan (changes nothing)",
    );
    expect(
      headline(
        { url: "http://127.0.0.1:1", token: "" },
        { approvalMode: "plan" },
        [],
      ),
    ).toBe("agent at http://127.0.0.1:1 · mode plan (changes nothing)");
  });

  it.each([{ task: "a1b2" }, { continue: true } as const])(
    "leaves the mode out for a conversation that is continued by %j",
    (continued) => {
      expect(
        headline(address, { ...continued, approvalMode: "yolo" }, []),
      ).toBe("agent Publisher · workspace /w");
    },
  );

  it("leaves the model out for an agent that names none", () => {
    expect(headline(address, {}, [])).toBe(
      "agent Publisher · workspace /w · mode default (asks before every change)",
    );
  });

  it("N1: leaves the operator's mode out for an agent that does not follow it", () => {
    const agents = [create(ListedAgentSchema, { follows: { settings: [] } })];
    expect(headline(address, {}, agents)).toBe(
      "agent Publisher · workspace /w",
    );
    // An only agent is listed without its name.
    expect(headline(address, { agent: "publish" }, agents)).toBe(
      "agent publish · workspace /w",
    );
  });
});
