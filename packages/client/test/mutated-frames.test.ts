import type { JsonObject } from "@bufbuild/protobuf";
import {
  emptyTask,
  reduceTask,
  type TaskEvent,
  TaskState,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { roundsOf, seedOf } from "../../../test/depth.ts";
import { generator, mutantOf } from "../../../test/json-mutants.ts";
import { createA2aTransport } from "../src/a2a.ts";
import {
  createDevtoolClient,
  streamMessage,
  textMessage,
} from "../src/index.ts";
import { deadline, joinText, madeText, QUICK } from "./streams.ts";

const MUTANTS = roundsOf("DEVTOOL_FRAME_MUTANTS", {
  quick: 150,
  ci: 400,
  deep: 10_000,
});
const PLACE = { taskId: "t1", contextId: "c1" };

/** A stream of A2A 0.3. Each text is a word of its own. */
const V03: readonly JsonObject[] = [
  { kind: "task", id: "t1", contextId: "c1", status: { state: "submitted" } },
  updateV03("working", "a1", ["alpha", "beta"]),
  {
    kind: "artifact-update",
    ...PLACE,
    artifact: {
      artifactId: "x",
      name: "n",
      parts: [textV03("gamma"), textV03("delta")],
    },
    append: false,
    lastChunk: true,
  },
  updateV03("working", "a2", ["epsilon"]),
  { ...updateV03("completed", "a3", ["zeta"]), final: true },
];

const V1: readonly JsonObject[] = [
  {
    task: {
      id: "t1",
      contextId: "c1",
      status: { state: "TASK_STATE_SUBMITTED" },
    },
  },
  updateV1("WORKING", "a1", ["alpha", "beta"]),
  {
    artifactUpdate: {
      ...PLACE,
      artifact: {
        artifactId: "x",
        name: "n",
        parts: [{ text: "gamma" }, { text: "delta" }],
      },
      append: false,
      lastChunk: true,
    },
  },
  updateV1("WORKING", "a2", ["epsilon"]),
  updateV1("COMPLETED", "a3", ["zeta"]),
];

const WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"];

describe.each([
  { version: "0.3", frames: V03 },
  { version: "1.0", frames: V1 },
])(
  "one element of a stream of A2A $version that is not what it should be",
  ({ version, frames }) => {
    it(`costs only itself, and is told: ${MUTANTS} mutants`, {
      timeout: 600_000,
    }, async () => {
      const random = generator(seedOf());
      for (let round = 0; round < MUTANTS; round++) {
        const index = Math.floor(random() * frames.length);
        const original = frames[index] ?? {};
        const { json, path } = mutantOf(original, random);
        const at = path.join(".");
        // What a frame is about decides whose frame it is.
        if (/(^|\.)(id|taskId)$/.test(at)) continue;
        const sent = frames.map((frame, each) =>
          each === index ? json : frame,
        );
        const events = await exchange(version, sent);
        const shown = joinText(events) + madeText(events);
        const told = events.some(({ payload }) => payload.case === "notice");
        const why = `${at} of frame ${index}: ${JSON.stringify(json)}`;
        const missing = WORDS.filter((word) => !shown.includes(word));
        const own = JSON.stringify(original);
        expect(
          missing.filter((word) => !own.includes(word)),
          why,
        ).toEqual([]);
        const left = JSON.stringify(json);
        expect(told || missing.every((word) => !left.includes(word)), why).toBe(
          true,
        );
        expect(events.at(-1)?.state, why).toBe(TaskState.COMPLETED);
        expect(events.reduce(reduceTask, emptyTask()).id, why).toBe("t1");
      }
    });
  },
);

function textV03(text: string): JsonObject {
  return { kind: "text", text };
}

function updateV03(
  state: string,
  messageId: string,
  texts: readonly string[],
): JsonObject {
  const message = {
    kind: "message",
    messageId,
    role: "agent",
    parts: texts.map(textV03),
    metadata: {},
  };
  return {
    kind: "status-update",
    ...PLACE,
    status: { state, message },
    final: false,
  };
}

function updateV1(
  state: string,
  messageId: string,
  texts: readonly string[],
): JsonObject {
  const message = {
    messageId,
    role: "ROLE_AGENT",
    parts: texts.map((text) => ({ text })),
    metadata: {},
  };
  return {
    statusUpdate: {
      ...PLACE,
      status: { state: `TASK_STATE_${state}`, message },
    },
  };
}

/** Exchanges one message with an agent that answers with frames. */
function exchange(
  version: string,
  frames: readonly JsonObject[],
): Promise<TaskEvent[]> {
  const transport = createA2aTransport({
    url: "http://agent.test/",
    protocolVersion: version,
    extension: "none",
    fetch: (_url, init) =>
      Promise.resolve(answerTo(String(init?.body), version, frames)),
  });
  const request = { message: textMessage("m1", "go") };
  return Array.fromAsync(
    streamMessage(createDevtoolClient(transport), request, deadline(), QUICK),
  );
}

/** Streams the frames, resumes no stream, and has the whole task. */
function answerTo(
  body: string,
  version: string,
  frames: readonly JsonObject[],
): Response {
  const { id, method } = JSON.parse(body);
  if (/stream/i.test(method)) {
    const lines = frames.map(
      (result) => `data: ${JSON.stringify({ jsonrpc: "2.0", id, result })}\n\n`,
    );
    const headers = { "content-type": "text/event-stream" };
    return new Response(lines.join(""), { headers });
  }
  const state = version === "0.3" ? "completed" : "TASK_STATE_COMPLETED";
  const kind = version === "0.3" ? { kind: "task" } : {};
  const result = { ...kind, id: "t1", contextId: "c1", status: { state } };
  const outcome = /get/i.test(method)
    ? { result }
    : { error: { code: -32601, message: "no such method" } };
  return Response.json({ jsonrpc: "2.0", id, ...outcome });
}
