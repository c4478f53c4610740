import { textMessage } from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { createMcp } from "@devtool/mcp";
import { ApprovalMode, ToolCallStatus } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { nodeServer, serverProgram } from "./servers.ts";

const SLOW =
  'call mcp__everything__trigger-long-running-operation {"duration":1,"steps":1}';

describe("allowed calls of one step", () => {
  it.each([
    ["tools of an MCP server", SLOW],
    [
      "commands",
      'call run_shell_command {"command":"sleep 1","wait_for_previous":false}',
    ],
  ])("run side by side: %s", async (_, line) => {
    await using server = await serveCodingAgent({
      workspace: temporaryDirectory(),
      approvalMode: ApprovalMode.YOLO,
      mcp: createMcp({
        servers: [
          nodeServer("everything", [
            serverProgram("server-everything"),
            "stdio",
          ]),
        ],
      }),
    });
    const seen: string[] = [];
    for await (const { event } of clientOf(server).tasks.streamMessage({
      request: {
        message: textMessage("m1", `${line}\n${line}\n${line}`),
        sessionSettings: { approvalMode: ApprovalMode.YOLO },
      },
    })) {
      if (event?.payload.case !== "toolCall") continue;
      seen.push(ToolCallStatus[event.payload.value.status]);
    }
    const lasting = seen.slice(
      seen.lastIndexOf("PENDING") + 1,
      seen.indexOf("SUCCEEDED"),
    );
    expect(lasting.slice(0, 3)).toEqual([
      "EXECUTING",
      "EXECUTING",
      "EXECUTING",
    ]);
    expect(seen.filter((status) => status === "SUCCEEDED")).toHaveLength(3);
  });
});
