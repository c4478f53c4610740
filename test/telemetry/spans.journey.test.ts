import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { describe, expect, it } from "vitest";
import { variantsOf } from "../depth.ts";
import { receive } from "../push/receiver.ts";
import type { Seen } from "./collector.ts";
import { SENDERS } from "./senders.ts";
import { startTelemetry } from "./telemetry.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const CALLER = "b7ad6b7169203331";
const TRACEPARENT = `00-${TRACE}-${CALLER}-01`;

describe("the spans of a turn", () => {
  it.for(variantsOf("bindings", Object.keys(SENDERS), 4))(
    "are one trace from the client to the webhook over %s",
    async (binding) => {
      await using told = await startTelemetry({ openInference: true });
      await using hook = await receive();
      await using server = await serveCodingAgent({
        workspace: temporaryDirectory(),
        pushTargets: [hook.target],
        observer: told.observer,
      });
      const { method, send } = SENDERS[binding] ?? {};
      await send?.(
        server,
        {
          messageId: "first",
          text: "read missing.txt\nnext\ntext Done.",
          hook: hook.url,
        },
        { traceparent: TRACEPARENT },
      );
      await hook.reached(1);
      await server.close();
      await told.flush();

      const request = await told.find(method ?? "");
      const { "gen_ai.conversation.id": contextId } = request.attributes;
      expect(request).toMatchObject({
        kind: 2,
        traceId: TRACE,
        parentSpanId: CALLER,
        attributes: {
          "a2a.method.name": method,
          "a2a.message.id": "first",
          "a2a.task.id": expect.stringMatching(/./),
          "a2a.task.state": "TASK_STATE_COMPLETED",
          "gen_ai.conversation.id": expect.stringMatching(/./),
        },
      });
      const turn = await told.find("invoke_agent devtool");
      const chat = await told.find("chat scripted");
      const call = await told.find("execute_tool read_file");
      const post = await told.find("devtool.push.post");
      expect(treeOf(told.spans, request)).toMatchObject({
        "invoke_agent devtool": {
          "chat scripted": {},
          "execute_tool read_file": {},
        },
        "devtool.push.post": {},
        "devtool.task.append": {},
      });
      for (const span of [turn, chat, call]) {
        expect(span.attributes).toMatchObject({
          "gen_ai.conversation.id": contextId,
          "session.id": contextId,
          "gen_ai.agent.name": "devtool",
        });
      }
      expect([turn, chat, call, post].map(({ kind }) => kind)).toEqual([
        1, 3, 1, 3,
      ]);
      expect(
        told.spans.map(
          ({ attributes }) => attributes["openinference.span.kind"],
        ),
      ).not.toContain(undefined);
      expect(new Set(told.spans.map(({ traceId }) => traceId))).toEqual(
        new Set([TRACE]),
      );
      const heads = hook.received.map(({ headers }) => headers.traceparent);
      expect(heads).toContain(`00-${TRACE}-${post.spanId}-01`);
    },
  );
});

type Tree = { [name: string]: Tree };

/** Returns the names of the spans below one, as a tree. */
function treeOf(spans: readonly Seen[], root: Seen): Tree {
  const below = spans.filter(
    ({ parentSpanId }) => parentSpanId === root.spanId,
  );
  return Object.fromEntries(
    below.map((span) => [span.name, treeOf(spans, span)]),
  );
}
