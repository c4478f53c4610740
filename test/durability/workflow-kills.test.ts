import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import {
  callWithRetry,
  confirmationPart,
  type DevtoolClient,
  pendingToolCalls,
  textMessage,
} from "@devtool/client";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { type Task, TaskState } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { roundsOf, seedOf } from "../depth.ts";
import { describeWithPostgres } from "../fleet/with-postgres.ts";
import { generator } from "../json-mutants.ts";
import { type ServerProcess, startServing } from "./crash/server-process.ts";

const KILLS = roundsOf("DEVTOOL_WORKFLOW_KILLS", {
  quick: 1,
  ci: 2,
  deep: 100,
});
const RUNS = roundsOf("DEVTOOL_WORKFLOWS", { quick: 2, ci: 2, deep: 20 });
/** A server is killed at most this long after it listens, in milliseconds. */
const MAX_LIFE_MS = 1_500;

/**
 * An agent that goes on from its task: it writes its message into a file, once,
 * and fails the first time where it is told to.
 */
const WORKER = `
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
const base = BASE;
export const agent = {
  about: { name: "worker", description: "Works." },
  open: () => ({
    createExecutor: () => ({
      continuesFromLog: "unasked",
      async *execute(turn, signal) {
        const said = turn.prompt.parts[0].content.value;
        await delay(30, undefined, { signal });
        const [word] = said.split(" ").filter((one) => one.startsWith("shaky"));
        const first = base + "/" + word;
        if (word && !existsSync(first)) writeFileSync(first, turn.task.id);
        if (word && readFileSync(first, "utf8") === turn.task.id) {
          yield { case: "end", value: { state: 4, text: "the first time" } };
          return;
        }
        appendFileSync(base + "/done", turn.task.id + " " + said + "\\n");
        await delay(30, undefined, { signal });
        yield { case: "text", value: "did " + said };
      },
    }),
  }),
};
`;

const FLOW = `
name: flow
steps:
  - { id: a, agent: worker, task: "a {{input.text}}" }
  - { id: b, agent: worker, task: "b {{input.text}}", dependencies: [a] }
  - { id: c, agent: worker, task: "c shaky-{{input.text}}", dependencies: [a], retries: 2, retry_delay: 0.2s }
  - id: again
    dependencies: [b]
    loop: { until: "{{steps.look.result.text}}", starts_with: "did look did write did look did write", max: 4 }
    steps:
      - { id: write, agent: worker, task: "write {{steps.look.result.text}} {{input.text}}" }
      - { id: look, agent: worker, task: "look {{steps.write.result.text}}", dependencies: [write] }
  - { id: end, agent: worker, task: "end {{input.text}}", approval: "End?", dependencies: [again, c] }
`;

const KILLED = `${RUNS} workflows under servers that are killed ${KILLS} times`;
const TOKEN = "one-token-for-all-servers-of-32-characters";

describe(`${KILLED}, in the logs of their tasks`, () => {
  it("end as they would have, and no step is done twice", () =>
    playKilled(1, ""));
});

describeWithPostgres(`${KILLED}, with DBOS in a fleet of two`, (database) => {
  it("end as they would have, and no step is done twice", () =>
    playKilled(
      2,
      `[store]\nurl = "${database.url}"\nlease = "5s"\ndbos = true\n`,
    ));
});

/**
 * Plays runs while a server, of as many as are said, is killed and started
 * again.
 */
async function playKilled(size: number, config: string): Promise<void> {
  const base = temporaryDirectory();
  const workspace = join(base, "work");
  mkdirSync(workspace);
  const worker = WORKER.replace("BASE", JSON.stringify(base));
  writeFileSync(join(base, "worker.mjs"), worker, { mode: 0o600 });
  writeFileSync(join(base, "flow.yaml"), FLOW, { mode: 0o600 });
  writeFileSync(join(base, "token"), TOKEN, { mode: 0o600 });
  const random = generator(seedOf());
  const start = (index: number): Promise<ServerProcess> => {
    const data = join(base, `data-${index}`);
    mkdirSync(data, { recursive: true, mode: 0o700 });
    writeFileSync(join(data, "config.toml"), config, { mode: 0o600 });
    return startServing([
      ...["--data", data, "--workspace", workspace],
      ...["--token-file", join(base, "token")],
      ...["--agent", join(base, "flow.yaml")],
      ...["--agent", join(base, "worker.mjs")],
    ]);
  };
  const servers: ServerProcess[] = [];
  for (let index = 0; index < size; index++) servers.push(await start(index));
  const client = (): DevtoolClient => {
    const [server] = servers;
    if (!server) throw new Error("there is no server");
    return clientOf(server.info);
  };
  try {
    const ids: string[] = [];
    for (let run = 0; run < RUNS; run++) {
      const request = {
        message: textMessage(`run-${run}`, `run${run}`),
        returnImmediately: true,
      };
      const { task } = await callWithRetry(
        (signal) => client().tasks.sendMessage(request, { signal }),
        {},
        AbortSignal.timeout(60_000),
      );
      ids.push(task?.id ?? "");
    }
    for (let kill = 0; kill < KILLS; kill++) {
      await delay(random() * MAX_LIFE_MS);
      const index = kill % size;
      await servers[index]?.kill();
      servers[index] = await start(index);
    }
    for (const [run, taskId] of ids.entries()) {
      await assertEnds(client(), run, taskId);
    }
    // A turn of the worker that was cut says it again, another task never does.
    const lines = readFileSync(join(base, "done"), "utf8").trim().split("\n");
    expect(new Set(lines).size).toBe(RUNS * 8);
    // Each try is one task of the worker, and each run one of its own.
    expect(await countTasks(client())).toBe(RUNS * (9 + 1));
  } finally {
    for (const server of servers) await server.kill();
  }
}

/** Approves the last step of a run, and looks at what its steps came to. */
async function assertEnds(
  { tasks }: DevtoolClient,
  run: number,
  taskId: string,
): Promise<void> {
  const get = async (): Promise<Task | undefined> =>
    (await tasks.getTask({ taskId })).task;
  await expect
    .poll(async () => TaskState[(await get())?.state ?? 0], {
      timeout: 120_000,
    })
    .toBe("INPUT_REQUIRED");
  const asked = await get();
  const parts = (asked ? pendingToolCalls(asked) : []).map((call) =>
    confirmationPart(call, "proceed_once"),
  );
  // A busy machine may stop a server for longer than its lease: the same answer
  // again counts once, and reaches the server that has the run then.
  await expect
    .poll(
      async () => {
        await tasks.sendMessage({
          message: { messageId: `yes-${run}`, parts },
          taskId,
        });
        return TaskState[(await get())?.state ?? 0];
      },
      { timeout: 120_000 },
    )
    .toBe("COMPLETED");
  const task = await get();
  expect(task?.error).toBe("");
  const runs = task?.history.flatMap(({ parts: all }) =>
    all.flatMap(({ toolCallDetail }) => toolCallDetail?.stepRun ?? []),
  );
  const tries = runs?.map(
    ({ path, attempt, error }) => `${path}#${attempt}${error && " failed"}`,
  );
  expect(tries?.sort()).toEqual([
    "a#1",
    "again/1/look#1",
    "again/1/write#1",
    "again/2/look#1",
    "again/2/write#1",
    "b#1",
    "c#1 failed",
    "c#2",
    "end#1",
  ]);
}

async function countTasks({ tasks }: DevtoolClient): Promise<number> {
  let count = 0;
  let pageToken = "";
  do {
    const page = await tasks.listTasks({ pageSize: 100, pageToken });
    count += page.tasks.length;
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  return count;
}
