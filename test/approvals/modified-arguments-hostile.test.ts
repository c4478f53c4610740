import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { createTaskView, type TaskView } from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  emptyTask,
  MODIFIED_ARGUMENTS_URI,
  SHOWN_DIGEST_URI,
} from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createIssuer, type Issuer } from "../auth/issuer.ts";
import { clientOf } from "../client-of.ts";
import { variantsOf } from "../depth.ts";

interface Answering {
  readonly taskId: string;
  readonly toolCallId: string;
  /** The text of the arguments, which may be anything. */
  readonly args: string;
  readonly digest?: string | undefined;
  readonly token?: string;
}

/**
 * The dialects whose messages are JSON, as text: an object would lose what a
 * hostile client writes.
 */
const DIALECTS: Readonly<
  Record<
    string,
    (answer: Answering) => { path: string; version: string; body: string }
  >
> = {
  "A2A 0.3": ({ taskId, toolCallId, args, digest }) => ({
    path: "/",
    version: "0.3",
    body: `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","role":"user","messageId":"${crypto.randomUUID()}","taskId":"${taskId}","parts":[{"kind":"data","data":{"tool_call_id":"${toolCallId}","selected_option_id":"modify_arguments"},"metadata":{${digestOf(digest)}"${MODIFIED_ARGUMENTS_URI}":${args}}}]}}}`,
  }),
  "A2A 1.0": ({ taskId, toolCallId, args, digest }) => ({
    path: "/",
    version: "1.0",
    body: `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"role":"ROLE_USER","messageId":"${crypto.randomUUID()}","taskId":"${taskId}","parts":[{"data":{"tool_call_id":"${toolCallId}","selected_option_id":"modify_arguments"},"mediaType":"application/json","metadata":{${digestOf(digest)}"${MODIFIED_ARGUMENTS_URI}":${args}}}]}}}`,
  }),
  "A2A 0.3 HTTP+JSON": ({ taskId, toolCallId, args, digest }) => ({
    path: "/v1/message:send",
    version: "0.3",
    body: `{"message":{"role":"ROLE_USER","messageId":"${crypto.randomUUID()}","taskId":"${taskId}","content":[{"data":{"data":{"tool_call_id":"${toolCallId}","selected_option_id":"modify_arguments"}},"metadata":{${digestOf(digest)}"${MODIFIED_ARGUMENTS_URI}":${args}}}]}}`,
  }),
  "A2A 1.0 HTTP+JSON": ({ taskId, toolCallId, args, digest }) => ({
    path: "/message:send",
    version: "1.0",
    body: `{"message":{"role":"ROLE_USER","messageId":"${crypto.randomUUID()}","taskId":"${taskId}","parts":[{"data":{"tool_call_id":"${toolCallId}","selected_option_id":"modify_arguments"},"mediaType":"application/json","metadata":{${digestOf(digest)}"${MODIFIED_ARGUMENTS_URI}":${args}}}]}}`,
  }),
  "Gemini CLI's dialect": ({ taskId, toolCallId, args, digest }) => ({
    path: "/",
    version: "0.3",
    body: `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","role":"user","messageId":"${crypto.randomUUID()}","taskId":"${taskId}","parts":[{"kind":"data","data":{"callId":"${toolCallId}","outcome":"modify_arguments"},"metadata":{${digestOf(digest)}"${MODIFIED_ARGUMENTS_URI}":${args}}}]}}}`,
  }),
  Connect: ({ taskId, toolCallId, args, digest }) => ({
    path: "/devtool.v1alpha.TaskService/SendMessage",
    version: "",
    body: `{"taskId":"${taskId}","message":{"messageId":"${crypto.randomUUID()}","parts":[{"confirmation":{"tool_call_id":"${toolCallId}","selected_option_id":"modify_arguments"},${digest === undefined ? "" : `"shownDigest":"${digest}",`}"modifiedArguments":${args}}]}}`,
  }),
};

const REFUSED: Readonly<Record<string, string>> = {
  "__proto__ with the argument": '{"__proto__":{"command":"touch pwned"}}',
  "__proto__ beside it": '{"command":"ls","__proto__":{"background":true}}',
  constructor:
    '{"command":"ls","constructor":{"prototype":{"command":"touch pwned"}}}',
  "a list for a text": '{"command":["touch","pwned"]}',
  "an object that would become a text":
    '{"command":{"toString":"touch pwned"}}',
  "a number for a text": '{"command":7}',
  "a text for a switch": '{"command":"ls","background":"true"}',
  "another name for an argument": '{"command":"ls","Command":"touch pwned"}',
  "a list": '[{"command":"touch pwned"}]',
  "a text with the arguments": '"{\\"command\\":\\"touch pwned\\"}"',
  nothing: "null",
  "much depth": `{"command":"ls","x":${"[".repeat(5000)}${"]".repeat(5000)}}`,
  "many values": `{"command":"ls","x":[${"0,".repeat(100_000)}0]}`,
  "10 MB": `{"command":"${"a".repeat(10_000_000)}"}`,
  "a number that is too big": '{"command":"ls","timeout":1e999}',
};

describe.each(variantsOf("dialects", Object.entries(DIALECTS), 3))(
  "arguments that a hostile client changes (TOOL-12), over %s",
  (name, bodyOf) => {
    let workspace: string;
    let server: DevtoolServer;
    let issuer: Issuer;

    beforeAll(async () => {
      workspace = temporaryDirectory();
      issuer = await createIssuer();
      const jwt = { ...issuer.options, approveScope: "devtool.approve" };
      server = await serveCodingAgent({
        workspace,
        sandbox: "none",
        authentication: { jwt },
      });
    });
    afterAll(() => server.close());

    it("are refused in each of these forms; the question stays, and nothing runs", async () => {
      const view = await ask();
      const before = await questionOf(view);
      for (const [what, args] of Object.entries(REFUSED)) {
        expect(await post({ ...before, args }), what).toMatch(
          /^4\d\d|^200 error/,
        );
        expect(await questionOf(view), what).toEqual(before);
      }
      expect(await readdir(workspace)).toEqual([]);
    });

    it("of another kind of effect ask again as what they are: in the background", async () => {
      const view = await ask();
      const before = await questionOf(view);
      expect(
        await post({
          ...before,
          args: '{"command":"touch pwned","background":true}',
        }),
      ).toMatch(/^200 ok/);
      const { description, digest } = await questionOf(view);
      expect(description).toMatch(/touch pwned.*\(in the background\)/);
      expect(digest).not.toBe(before.digest);
      expect(existsSync(join(workspace, "pwned"))).toBe(false);
    });

    it("of a question that has changed, or of a call that has run, are refused", async () => {
      const view = await ask();
      const old = await questionOf(view);
      expect(await post({ ...old, args: '{"command":"echo two"}' })).toMatch(
        /^200 ok/,
      );
      const now = await questionOf(view);
      expect(now.digest).not.toBe(old.digest);
      expect(await post({ ...old, args: '{"command":"touch pwned"}' })).toMatch(
        /^4\d\d|^200 error/,
      );
      expect(await questionOf(view)).toEqual(now);
      const { tasks } = clientOf(server);
      const confirmation = {
        toolCallId: now.toolCallId,
        selectedOptionId: "proceed_once",
      };
      const parts = [
        { content: { case: "confirmation", value: confirmation } as const },
      ];
      await tasks.sendMessage({
        taskId: now.taskId,
        message: { messageId: crypto.randomUUID(), parts },
      });
      expect(await post({ ...now, args: '{"command":"touch pwned"}' })).toMatch(
        /^4\d\d|^200 error/,
      );
      expect(existsSync(join(workspace, "pwned"))).toBe(false);
    });

    it("are refused from a caller without the right to approve, also for its own task", async () => {
      const token = await issuer.tokenFor("mallory", "openid");
      const view = await ask(token);
      const before = await questionOf(view, token);
      expect(
        await post({ ...before, args: '{"command":"touch pwned"}', token }),
      ).toMatch(/^4\d\d|^200 error/);
      // Nor does the operator's question take an answer of hers.
      const other = await questionOf(await ask());
      expect(
        await post({ ...other, args: '{"command":"touch pwned"}', token }),
      ).toMatch(/^4\d\d|^200 error/);
      expect([
        await questionOf(view, token),
        existsSync(join(workspace, "pwned")),
      ]).toEqual([before, false]);
    });

    async function ask(token = server.token): Promise<TaskView> {
      const view = createTaskView(clientOf({ ...server, token }));
      await view.send("run eval echo one", AbortSignal.timeout(120_000));
      return view;
    }

    async function questionOf(view: TaskView, token = server.token) {
      const taskId = view.snapshot().task.id;
      const client = clientOf({ ...server, token });
      const { task: { sequence: head } = emptyTask() } =
        await client.tasks.getTask({ taskId });
      const now = createTaskView(client, { taskId });
      const leave = new AbortController();
      const following = now.follow(leave.signal).catch(() => undefined);
      // The log begins with the question as it was first asked.
      await expect
        .poll(() => now.snapshot().task.sequence >= head, { timeout: 60_000 })
        .toBe(true);
      expect(now.snapshot().questions).toHaveLength(1);
      leave.abort();
      await following;
      const [call = expect.unreachable()] = now.snapshot().questions;
      const digest =
        call.shownDigest && Buffer.from(call.shownDigest).toString("base64");
      return {
        taskId,
        toolCallId: call.toolCallId,
        digest,
        description: call.description,
      };
    }

    /**
     * Returns the status of the answer, and whether it is an error of JSON-RPC.
     */
    async function post(answer: Answering): Promise<string> {
      const { path, version, body } = bodyOf(answer);
      const headers = {
        "content-type": "application/json",
        authorization: `Bearer ${answer.token ?? server.token}`,
        ...(version !== "" && { "a2a-version": version }),
      };
      const response = await fetch(`${server.url}${path}`, {
        method: "POST",
        headers,
        body,
      });
      const text = await response.text();
      return `${response.status} ${/"error":\{/.test(text) ? "error" : "ok"} ${name}`;
    }
  },
);

function digestOf(digest: string | undefined): string {
  return digest === undefined ? "" : `"${SHOWN_DIGEST_URI}":"${digest}",`;
}
