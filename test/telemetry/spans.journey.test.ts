import { fileURLToPath } from "node:url";
import { serveCodingAgent } from "@devtool/coding-agent";
import { createGeminiModel } from "@devtool/gemini";
import { startFakeGemini } from "@devtool/gemini/testing";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { createMcp } from "@devtool/mcp";
import { ApprovalMode } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { variantsOf } from "../depth.ts";
import { nodeServer } from "../mcp/servers.ts";
import { receive } from "../push/receiver.ts";
import { below, treeOf } from "./otlp-spans.ts";
import { SENDERS } from "./senders.ts";
import { startTelemetry } from "./telemetry.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const CALLER = "b7ad6b7169203331";
const TRACEPARENT = `00-${TRACE}-${CALLER}-01`;
const MCP = fileURLToPath(new URL("traced-mcp-server.ts", import.meta.url));
const SCRIPT =
  'call mcp__traced__where\nnext\ncall read_mcp_resource {"server":"traced","uri":"trace:place"}\nnext\nrun echo $TRACEPARENT\nnext\ntext Done.';

describe("the spans of a turn", () => {
  it.for(variantsOf("bindings", Object.keys(SENDERS), 2))(
    "are one trace from the client over the model and MCP to the webhook over %s",
    async (binding) => {
      const {
        method = "",
        send,
        state = "TASK_STATE_COMPLETED",
        hasNoHook = false,
      } = SENDERS[binding] ?? {};
      await using told = await startTelemetry({ openInference: true });
      await using hook = await receive();
      await using fake = await startFakeGemini();
      await using server = await serveCodingAgent({
        workspace: temporaryDirectory(),
        model: createGeminiModel({
          apiKey: "k",
          baseUrl: fake.url,
          model: "gemini-test",
        }),
        mcp: createMcp({ servers: [nodeServer("traced", [MCP])] }),
        approvalMode: ApprovalMode.YOLO,
        pushTargets: [hook.target],
        observer: told.observer,
      });
      await send?.(
        server,
        { messageId: "first", text: SCRIPT, hook: hook.url },
        { traceparent: TRACEPARENT, tracestate: "vendor=1" },
      );
      if (!hasNoHook) await hook.reached(1);
      const task = await onlyTask(server);
      await server.close();
      await told.flush();

      const request = await told.find(method);
      expect(request).toMatchObject({
        kind: 2,
        traceId: TRACE,
        parentSpanId: CALLER,
        attributes: {
          "a2a.method.name": method,
          "a2a.message.id": expect.stringMatching(/./),
          "a2a.task.id": task.id,
          "a2a.task.state": state,
          "gen_ai.conversation.id": task.contextId,
        },
      });
      const spans = told.spans.filter(({ traceId }) => traceId === TRACE);
      expect(treeOf(spans, request)).toMatchObject({
        "invoke_agent devtool": {
          "chat gemini-test": {},
          "execute_tool mcp__traced__where": {},
          "execute_tool read_mcp_resource": {},
          "execute_tool run_shell_command": {},
        },
        ...(!hasNoHook && { "devtool.push.post": {} }),
      });
      const ofTurn = below(spans, await told.find("invoke_agent devtool"));
      expect(ofTurn.length).toBeGreaterThan(7);
      expect(ofTurn[0]?.attributes).toMatchObject({
        "devtool.append.count": expect.any(Number),
        "devtool.append.duration": expect.any(Number),
      });
      for (const { attributes } of ofTurn) {
        expect(attributes).toMatchObject({
          "gen_ai.conversation.id": task.contextId,
          "session.id": task.contextId,
          "gen_ai.agent.name": "devtool",
        });
      }
      const kinds = spans.map(({ name, attributes }) => [
        name,
        attributes["openinference.span.kind"],
      ]);
      expect(kinds.flat()).not.toContain(undefined);
      expect(Object.fromEntries(kinds)).toMatchObject({
        [method]: "CHAIN",
        "invoke_agent devtool": "AGENT",
        "chat gemini-test": "LLM",
        "execute_tool mcp__traced__where": "TOOL",
        "execute_tool read_mcp_resource": "TOOL",
        "execute_tool run_shell_command": "TOOL",
        ...(!hasNoHook && { "devtool.push.post": "CHAIN" }),
      });

      // What the MCP server and the command were told is in the task.
      const place = async (tool: string): Promise<string> => {
        const { spanId } = await told.find(`execute_tool ${tool}`);
        return `00-${TRACE}-${spanId}-01`;
      };
      for (const tool of ["mcp__traced__where", "read_mcp_resource"]) {
        expect(task.outputs.get(tool)).toContain(
          `"traceparent":"${await place(tool)}","tracestate":"vendor=1"`,
        );
      }
      expect(task.outputs.get("run_shell_command")).toContain(
        await place("run_shell_command"),
      );
      if (hasNoHook) return;
      const post = await told.find("devtool.push.post");
      expect(hook.received.map(({ headers }) => headers.traceparent)).toContain(
        `00-${TRACE}-${post.spanId}-01`,
      );
    },
  );
});

/** The task of a server that has one, with the output of each tool. */
async function onlyTask(server: {
  readonly url: string;
  readonly token: string;
}) {
  const { tasks } = await clientOf(server).tasks.listTasks({});
  expect(tasks).toHaveLength(1);
  const { task } = await clientOf(server).tasks.getTask({
    taskId: tasks[0]?.id ?? "",
  });
  const calls = (task?.history ?? []).flatMap(({ parts }) =>
    parts.flatMap(({ content }) =>
      content.case === "toolCall" ? [content.value] : [],
    ),
  );
  return {
    id: task?.id ?? "",
    contextId: task?.contextId ?? "",
    outputs: new Map(
      calls.map(({ toolName, result }) => [toolName, outputOf(result.value)]),
    ),
  };
}

function outputOf(value: unknown): string {
  return JSON.stringify(value).replaceAll("\\\\", "").replaceAll('\\"', '"');
}
