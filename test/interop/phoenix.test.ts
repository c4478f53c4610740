import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { exportSpans } from "@devtool/cli/testing";
import { textMessage } from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { listOrEmpty, objectOrEmpty } from "@devtool/internal/json";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { freePort } from "../free-port.ts";

const PROGRAM = fileURLToPath(
  new URL(".venv-phoenix/bin/phoenix", import.meta.url),
);
const isHere = existsSync(PROGRAM);
const without = isHere
  ? ""
  : ": SKIPPED, Phoenix is not here: run npx -y pnpm@12 install:interop";

/** A start of Phoenix makes its database, and a machine may be busy. */
const START_MS = 180_000;

describe("a turn in Arize Phoenix", () => {
  it.skipIf(!isHere)(
    `is shown with the kind of each span, in its session${without}`,
    async () => {
      const port = await freePort();
      const phoenix = startPhoenix(port, await freePort());
      const url = `http://127.0.0.1:${port}`;
      try {
        await expect
          .poll(() => statusOf(`${url}/healthz`), { timeout: START_MS })
          .toBe(200);
        const contextId = await playTurn(url);
        const spans = await spansIn(url, 5);
        const kinds = new Map(spans.map((span) => [span.name, span.span_kind]));
        expect(Object.fromEntries(kinds)).toMatchObject({
          SendMessage: "CHAIN",
          "invoke_agent devtool": "AGENT",
          "chat scripted": "LLM",
          "execute_tool read_file": "TOOL",
        });
        const turn = spans.find(({ name }) => name === "invoke_agent devtool");
        expect(objectOrEmpty(turn?.attributes)["session.id"]).toBe(contextId);
        const parents = new Set(spans.map(({ parent_id }) => parent_id));
        expect(parents).toContain(objectOrEmpty(turn?.context).span_id);
      } finally {
        phoenix.kill("SIGKILL");
        if (phoenix.exitCode === null) await once(phoenix, "exit");
      }
    },
    START_MS + 120_000,
  );
});

function startPhoenix(port: number, grpcPort: number): ChildProcess {
  return spawn(PROGRAM, ["serve"], {
    stdio: "ignore",
    env: {
      PATH: process.env.PATH,
      HOME: temporaryDirectory(),
      PHOENIX_HOST: "127.0.0.1",
      PHOENIX_PORT: String(port),
      PHOENIX_GRPC_PORT: String(grpcPort),
      PHOENIX_WORKING_DIR: temporaryDirectory(),
      PHOENIX_TELEMETRY_ENABLED: "false",
    },
  });
}

/** Plays a turn with a tool. Returns its context. */
async function playTurn(url: string): Promise<string> {
  await using sent = exportSpans({
    url: `${url}/v1/traces`,
    headers: {},
    openInference: true,
    onNotice: (text) => {
      throw new Error(text);
    },
  });
  await using server = await serveCodingAgent({
    workspace: temporaryDirectory(),
    observer: sent.observer,
  });
  const { task } = await clientOf(server).tasks.sendMessage({
    message: textMessage("m", "read a.txt\nnext\ntext Done."),
  });
  return task?.contextId ?? "";
}

/** Waits until Phoenix has this number of spans, and returns them. */
async function spansIn(url: string, atLeast: number) {
  const read = async () => {
    const response = await fetch(`${url}/v1/projects/default/spans?limit=100`);
    return listOrEmpty(objectOrEmpty(await response.json()).data).map(
      objectOrEmpty,
    );
  };
  await expect
    .poll(async () => (await read()).length, { timeout: 60_000 })
    .toBeGreaterThanOrEqual(atLeast);
  return read();
}

async function statusOf(url: string): Promise<number> {
  const response = await fetch(url).catch(() => undefined);
  return response?.status ?? 0;
}
