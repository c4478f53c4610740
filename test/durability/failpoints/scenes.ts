import { hash } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { textMessage } from "@devtool/client";
import { TrustStore, Workspace } from "@devtool/coding-agent/operator";
import { toolCallsOf } from "@devtool/schema";
import type { Life, World } from "./world.ts";

/** The work that a server repeats until it passes a failpoint. */
export interface Scene {
  /**
   * When the failpoint is passed: while the server starts, works or stops.
   * Default: while it works.
   */
  readonly moment?: "start" | "work" | "stop";
  /** The steps of the agent in each task. Default: one command. */
  readonly script?: (token: string) => string;
  /** Over which binding tasks are started. Default: Connect. */
  readonly binding?: "A2A 0.3";
  /** Whether tasks are started with a push config. */
  readonly notifies?: true;
  /** The option by which calls are approved. Default: once. */
  readonly option?: string;
  /** The action that is repeated beside the tasks. */
  readonly beside?: (life: Life) => Promise<void>;
  /** The action while the server is down, before it passes the failpoint. */
  readonly prepare?: (world: World) => Promise<void>;
  /**
   * A failpoint at which it is killed first, because only what that leaves
   * leads to this one.
   */
  readonly killedFirstAt?: string;
  /** A server passes the failpoint once in its life. */
  readonly once?: true;
}

/** A command that leaves a trace, and something to say before and after it. */
export function command(token: string): string {
  return `say 3\nrun echo ${token} >> effects.txt\nsay 3\ntext end`;
}

function edits(token: string): string {
  const path = `made/${token}.txt`;
  return [
    `write ${path} begin`,
    `edit ${path} begin => begin +`,
    `edit ${path} begin => begin +`,
    "text end",
  ].join("\nnext\n");
}

/** One command in each task. */
const COMMAND: Scene = {};
const EDITS: Scene = { script: edits };
const START: Scene = { moment: "start", once: true };
const NOTIFIES: Scene = { notifies: true };
const MCP: Scene = {
  script: (token) =>
    `call mcp__effects__append {"token":"${token}"}\nsay 3\ntext end`,
};
const SAVES: Scene = {
  script: (token) => `run ./append.sh ${token}\ntext end`,
  option: "proceed_always_and_save",
};

/**
 * The scenes of the failpoints whose names begin so, without `devtool:`; the
 * first that fits counts.
 */
const SCENES: readonly (readonly [name: string, scene: Scene])[] = [
  ["store.make", START],
  ["store.open", START],
  ["store.layout", START],
  ["workspace.make", START],
  ["private-file", START],
  ["file", START],
  ["browser-sessions", { beside: admitBrowser }],
  ["agent-registry", { beside: registerAgent }],
  ["untold-cancel", { prepare: keepUntold, once: true }],
  ["discovery", { moment: "stop", once: true }],
  ["stdio.close", { ...MCP, moment: "stop", once: true }],
  ["stdio.spawn", { ...MCP, once: true }],
  ["stdio", MCP],
  ["sse", { binding: "A2A 0.3" }],
  ["http", { beside: probe }],
  ["store.delete", { beside: deleteTask }],
  ["store.erase", { beside: deleteLargeTask }],
  ["store.put-head", { beside: talkLong, once: true }],
  ["store.probe", { beside: probe, once: true }],
  ["subscription", { beside: subscribe }],
  ["push-config.delete", { beside: deleteConfig }],
  ["push", NOTIFIES],
  ["outbound", NOTIFIES],
  [
    "signing-keys",
    {
      ...NOTIFIES,
      prepare: ({ data }) =>
        rm(join(data, "signing-keys.json"), { force: true }),
      once: true,
    },
  ],
  [
    "workspace.sweep",
    { ...EDITS, killedFirstAt: "devtool:workspace.rename.before", once: true },
  ],
  [
    "workspace.remove",
    { script: () => "say 3\ntext end", beside: restore, once: true },
  ],
  ["workspace", EDITS],
  ["checkpoint", { ...EDITS, once: true }],
  ["approvals.sweep", START],
  ["approvals", SAVES],
  ["trust", { beside: remember, prepare: trustWorkspace, once: true }],
  ["call", COMMAND],
  ["command", COMMAND],
  ["exchange", COMMAND],
  ["git", COMMAND],
  ["log", COMMAND],
  ["model", COMMAND],
  ["store", COMMAND],
];

/**
 * Returns the scene that leads to a failpoint. Throws for a failpoint that no
 * scene is for.
 */
export function sceneOf(failpoint: string): Scene {
  const name = failpoint.replace("devtool:", "");
  const found = SCENES.find(([start]) => name.startsWith(start));
  if (!found) {
    throw new Error(
      `no scene leads to failpoint "${failpoint}": add one to test/durability/failpoints/scenes.ts`,
    );
  }
  return found[1];
}

/** Leaves a cancellation of a call that no log has. */
async function keepUntold({ data }: World): Promise<void> {
  const name = hash("sha256", JSON.stringify(["parent", "call"]));
  await writeFile(
    join(data, `untold-cancel-${name}.json`),
    JSON.stringify({ parentTaskId: "parent", toolCallId: "call" }),
  );
}

async function probe({ info, signal }: Life): Promise<void> {
  await fetch(`${info.url}/readyz`, { signal });
}

/** Reads the log of a task from its begin. */
async function subscribe({ client, world, signal }: Life): Promise<void> {
  const [taskId, token] = [...world.witness.tokens].at(-1) ?? [];
  if (taskId === undefined || token === undefined) {
    return delay(5, undefined, { signal });
  }
  // A task that waits for its user shows nothing more; a later one does.
  const patience = AbortSignal.timeout(1000);
  try {
    for await (const { event } of client.tasks.subscribeTask(
      { taskId },
      { signal: AbortSignal.any([signal, patience]) },
    )) {
      if (event) world.witness.record(event, token);
      if ((event?.sequence ?? 0n) > 3n) return;
    }
  } catch (reason) {
    if (!patience.aborted) throw reason;
  }
}

/** Has a file read in a task of its own, and deletes the task. */
function deleteTask(life: Life): Promise<void> {
  return deleteAfter(life, "read append.sh\nsay 3\ntext end");
}

/** Deletes a task whose rows are erased in parts afterwards. */
function deleteLargeTask(life: Life): Promise<void> {
  return deleteAfter(life, "read append.sh\nsay 80 10000\ntext end");
}

/** Has the agent say 5 MB in a task of its own, whose head the store gets. */
async function talkLong({ client, signal }: Life): Promise<void> {
  const message = textMessage(crypto.randomUUID(), "say 90 60000\ntext end");
  await client.tasks.sendMessage({ message }, { signal });
}

async function deleteAfter(
  { client, world, signal }: Life,
  script: string,
): Promise<void> {
  const message = textMessage(crypto.randomUUID(), script);
  const { task } = await client.tasks.sendMessage({ message }, { signal });
  const taskId = task?.id ?? "";
  world.leaving.set(taskId, Number(task?.sequence ?? 0n));
  await client.tasks.deleteTask({ taskId }, { signal });
  world.leaving.delete(taskId);
  world.gone.add(taskId);
}

/** Sets a config for a task and deletes it again. */
async function deleteConfig({ client, world, signal }: Life): Promise<void> {
  const taskId = [...world.witness.tokens.keys()].at(-1);
  if (taskId === undefined) return delay(5, undefined, { signal });
  await client.push.setPushConfig(
    { config: { id: "short", taskId, url: world.receiver.url } },
    { signal },
  );
  world.deleted.delete(taskId);
  await client.push.deletePushConfig({ taskId, configId: "short" }, { signal });
  world.deleted.add(taskId);
}

/** Lets a browser in, then ends the sessions of the browsers before. */
async function admitBrowser(life: Life): Promise<void> {
  const { world, signal } = life;
  const access = life.browserAccess();
  const { code } = await access.createAccessCode({}, { signal });
  const { token, session } = await access.redeemAccessCode(
    { code },
    { signal },
  );
  const { sessions } = await access.listBrowserSessions({}, { signal });
  for (const { id } of sessions) {
    if (id === session?.id) continue;
    const revoked = world.browsers.get(id) ?? "";
    world.browsers.delete(id);
    await access.revokeBrowserSession({ id }, { signal });
    world.revokedBrowsers.set(id, revoked);
  }
  world.browsers.set(session?.id ?? "", token);
}

/** Makes a file after a checkpoint, and goes back to before it. */
async function restore(life: Life): Promise<void> {
  const task = await life.play(
    textMessage(
      crypto.randomUUID(),
      "write one.txt 1\nnext\nwrite two.txt 2\ntext end",
    ),
  );
  if (task.history.flatMap(toolCallsOf).length < 2) return;
  const listed = await life.run("restore list", "");
  const texts = listed.history.flatMap(({ parts }) =>
    parts.map(({ content }) => (content.case === "text" ? content.value : "")),
  );
  const ids = [...texts.join("\n").matchAll(/^(\d+) {2}/gm)].map(
    ([, id = ""]) => id,
  );
  const oldest = ids.at(-1);
  if (oldest !== undefined) await life.run("restore", oldest);
}

/** Adds a fact to the memory of the workspace, whose trust follows. */
async function remember(life: Life): Promise<void> {
  await life.run("memory add", `Fact ${crypto.randomUUID()}.`);
}

async function trustWorkspace({ data, workspace }: World): Promise<void> {
  const openDirectory = (path: string): Workspace => new Workspace(path);
  const trust = new TrustStore({
    dataDirectory: data,
    openDirectory,
    now: () => new Date(),
  });
  const state = await trust.trustOf(workspace);
  if (state.case !== "trusted") {
    await trust.grant(await trust.preview(workspace));
  }
}

/** Registers an agent, or renews it. */
async function registerAgent({ client, signal }: Life): Promise<void> {
  const url = "https://agents.example/helper";
  await client.agents.registerAgent({ name: "helper", url }, { signal });
}
