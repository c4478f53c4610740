import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bindingsOf, type Json } from "../conformance/tck/bindings.ts";
import { postJson } from "../post-json.ts";

/** A task as a client without the extension reads it, in either version. */
interface Sent {
  readonly id: string;
  readonly contextId: string;
  readonly status: { readonly state: string };
  readonly metadata?: Json;
}

type Send = (text: string, place: Json) => Promise<Sent>;

const REPLAY = "https://devtool.dev/a2a/replay/v1alpha";
const SETTINGS = "https://devtool.dev/a2a/message-settings/v1alpha";

describe("messages of callers that know only A2A", () => {
  let workspace: string;
  let server: DevtoolServer;
  beforeAll(async () => {
    workspace = temporaryDirectory();
    server = await serveCodingAgent({
      workspace,
      a2a: { contextAlone: "continue" },
    });
  });
  afterAll(() => server.close());

  describe.each(["0.3", "1.0"])("of version %s", (version) => {
    const send: Send = (text, place) =>
      (version === "0.3" ? sendV03 : sendV1)(server, text, place);

    it.each([
      ["with its task", ({ id }: Sent) => ({ taskId: id })],
      ["with its context alone", ({ contextId }: Sent) => ({ contextId })],
    ])(
      "repeat an answer %s after the task has ended, as one of the start is repeated (STREAM-7)",
      async (_how, placeOf) => {
        const start = { messageId: crypto.randomUUID() };
        const asked = await send("run eval echo asked", start);
        expect(asked.status.state).toMatch(/input.required/i);
        const answer = { ...placeOf(asked), messageId: crypto.randomUUID() };
        const first = await send("yes", answer);
        expect([first.id, first.status.state]).toEqual([
          asked.id,
          expect.stringMatching(/completed/i),
        ]);
        const again = await send("yes", answer);
        expect(again).toMatchObject({
          id: first.id,
          status: first.status,
          metadata: { [REPLAY]: { messageId: answer.messageId } },
        });
        await expect(send("no", answer)).rejects.toThrow("used for another");
      },
    );

    it("continue the only task of a context that waits, and no other (STREAM-5)", async () => {
      const one = await send("run eval echo one", {});
      const { contextId } = one;
      const queued = await send("text then this", { contextId });
      expect([queued.id, queued.status.state]).toEqual([
        one.id,
        expect.stringMatching(/input.required/i),
      ]);
      expect((await send("no", { contextId })).id).toBe(one.id);
      const next = await send("run eval echo two", { contextId });
      expect(next.id).not.toBe(one.id);
      const other = { contextId: crypto.randomUUID() };
      expect((await send("text x", other)).id).not.toBe(next.id);
      // A fork is for no task, so that the context is what is wrong with it.
      const metadata = { [SETTINGS]: { fork: { taskId: one.id } } };
      await expect(send("text y", { contextId, metadata })).rejects.toThrow(
        version === "0.3" ? "a fork begins another one" : "failed",
      );
      expect((await send("yes", { contextId })).id).toBe(next.id);
    });
  });

  it("begin a new task in 1.0 by default", async () => {
    await using strict = await serveCodingAgent({ workspace });
    const one = await sendV1(strict, "run eval echo one", {});
    const { contextId } = one;
    const next = await sendV1(strict, "text x", { contextId });
    expect(next.id).not.toBe(one.id);
  });
});

async function sendV03(
  { url, token }: DevtoolServer,
  text: string,
  place: Json,
): Promise<Sent> {
  const parts = [{ kind: "text", text }];
  const id = crypto.randomUUID();
  const message = { messageId: id, role: "user", parts, ...place };
  const response = await postJson({ url, token }, "", {
    ...{ jsonrpc: "2.0", id: 1, method: "message/send" },
    params: { message },
  });
  const { result, error } = Object(await response.json());
  if (error) throw new Error(error.message);
  return result;
}

async function sendV1(
  { url, token }: DevtoolServer,
  text: string,
  place: Json,
): Promise<Sent> {
  const [binding] = bindingsOf(url, { authorization: `Bearer ${token}` });
  const id = crypto.randomUUID();
  const said = { messageId: id, role: "ROLE_USER", parts: [{ text }] };
  const message = { ...said, ...place };
  const answer = await binding?.call("SendMessage", { message });
  if (answer?.failure) {
    throw new Error(
      answer.failure.code === -32051 ? "used for another" : "failed",
    );
  }
  return answer?.result.task;
}
