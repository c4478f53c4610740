import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { toJson } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { type DevtoolClient, textMessage } from "@devtool/client";
import { fileText } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { TaskSchema, TaskState } from "@devtool/schema";
import { verifyAudit } from "@devtool/server";
import { describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { DEPTH, LEFT_TO_CI, LEFT_TO_DEEP, variantsOf } from "../depth.ts";
import { startServing } from "../durability/crash/server-process.ts";
import { COUNT_ORDER } from "../durability/failpoints/count-passages.ts";
import {
  ARMED,
  CARRIED_OUT,
  KILL_ORDER,
  type KillOrder,
} from "../durability/failpoints/kill-at.ts";
import { LIMIT_MS } from "./agents.ts";
import { ServerFleet } from "./server-fleet.ts";
import { describeWithPostgres } from "./with-postgres.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const KILL_AT = new URL("../durability/failpoints/kill-at.ts", import.meta.url);
const COUNT = new URL(
  "../durability/failpoints/count-passages.ts",
  import.meta.url,
);
const LOOK = new URL("look-at-signal.ts", import.meta.url);
const HELPER = fileURLToPath(new URL("delete-helper.mjs", import.meta.url));
const MAIN = join(ROOT, "packages/cli/dist/main.js");

/** What a deletion passes before its commit: a kill there leaves all. */
const BEFORE_COMMIT_ON_POSTGRES = ["postgres.delete.before"];
const BEFORE_COMMIT_ON_SQLITE = [
  // The first deletion makes the key that signs it.
  "signing-keys.write.before",
  "file.write.before",
  "file.rename.before",
  "file.rename.after",
  "signing-keys.write.after",
  "store.delete.before",
  "store.audit.before",
  "store.audit.after",
  "store.delete-commit.before",
];
/** All that it passes: a kill after the commit leaves nothing. */
const ON_POSTGRES = [
  ...BEFORE_COMMIT_ON_POSTGRES,
  "postgres.delete.after",
  "postgres.forget.before",
  "postgres.forget.after",
];
const ON_SQLITE = [
  ...BEFORE_COMMIT_ON_SQLITE,
  "store.delete-commit.after",
  "store.delete.after",
  "store.erase.before",
  "store.erase-commit.before",
  "store.erase-commit.after",
  "store.erase.after",
];
/** In CI, the last before the commit and the first after it. */
const PLAYED_ON_POSTGRES =
  DEPTH === "deep" ? ON_POSTGRES : ON_POSTGRES.slice(0, 2);
/** What the look of the retention passes beside. */
const OF_RETENTION = [
  "postgres.session-begin.before",
  "postgres.session-begin.after",
  ...ON_POSTGRES,
];
/** What a server passes at any time, whatever its clients ask. */
const ANY_TIME = /^devtool:(postgres\.(lease|push)|push|outbound)/;

/** More than SQLite erases in one part; in the deep tier, a task with a head. */
const BULK = DEPTH === "deep" ? "say 90 60000" : "say 80 10000";
const SETTINGS = `push_targets = ["127.0.0.1:*"]\nsandbox = "none"`;
const FLAGS = [
  ...["--approval-mode", "yolo"],
  ...["--agent", "devtool", "--agent", `helper=${HELPER}`],
];

describeWithPostgres(
  "a deletion at one of three servers that is killed",
  (database) => {
    const startFleet = (schema: string, loaded: URL): Promise<ServerFleet> =>
      ServerFleet.start({
        ...{ database, schema, replicas: 3, loaded },
        ...{ settings: SETTINGS, flags: FLAGS },
      });

    it("leaves a whole task or nothing of it, and all other tasks", {
      timeout: 10 * LIMIT_MS,
    }, async () => {
      await using fleet = await startFleet("killed", KILL_AT);
      await fleet.server(1).kill();
      for (const point of PLAYED_ON_POSTGRES) {
        const report = join(temporaryDirectory(), "report");
        await launchKilled(fleet, orderOf(point, "signal", report));
        await playKill({
          point,
          report,
          one: fleet.client(0),
          killed: {
            client: fleet.client(1),
            arm: () => fleet.signal(1, "SIGUSR2"),
            ended: fleet.server(1).ended,
          },
          survivor: async () => fleet.client(2),
          rest: (marker) => restInFleet(database, fleet, "killed", marker),
        });
      }
      await verifyByCommand(["--url", fleet.url, "--token", fleet.token]);
    });

    it.skipIf(LEFT_TO_DEEP !== "")(
      `passes no other failpoint${LEFT_TO_DEEP}`,
      { timeout: 3 * LIMIT_MS },
      async () => {
        const { file, order } = countOrder();
        process.env[COUNT_ORDER] = order;
        await using fleet = await startFleet("counted", COUNT).finally(
          () => delete process.env[COUNT_ORDER],
        );
        const { taskId } = await doomedTask(fleet.client(0));
        await fleet.server(0).kill();
        await fleet.server(2).kill();
        fleet.signal(1, "SIGUSR2");
        await fleet.client(1).tasks.deleteTask({ taskId });
        fleet.signal(1, "SIGUSR2");
        expect(await passed(file)).toEqual(ON_POSTGRES.map(nameOf).toSorted());
      },
    );

    it.skipIf(LEFT_TO_DEEP !== "").each(OF_RETENTION)(
      `is done by another server where the retention is killed at %s${LEFT_TO_DEEP}`,
      { timeout: 5 * LIMIT_MS },
      async (point) => {
        const schema = `retained_${OF_RETENTION.indexOf(point)}`;
        await using fleet = await startFleet(schema, KILL_AT);
        const one = fleet.client(0);
        const { taskId, marker } = await doomedTask(one);
        // Beside it go the task of its helper and the one that goes on.
        const gone = await listed(one);
        for (const name of ["one", "two"]) await completed(one, `text ${name}`);
        const kept = (await listed(one)).filter((id) => !gone.includes(id));
        const before = await Promise.all(kept.map((id) => contentOf(one, id)));
        const report = join(temporaryDirectory(), "report");
        for (const index of [0, 1, 2]) await fleet.server(index).kill();
        // The first look of a server is a minute after its start.
        const settings = `${SETTINGS}\n[retention]\nmax_tasks = 2`;
        await launchKilled(fleet, orderOf(point, "start", report), settings);
        await expect
          .poll(() => existsSync(report) && readFileSync(report, "utf8"), {
            timeout: 2 * LIMIT_MS,
          })
          .toBe(CARRIED_OUT);
        await fleet.server(1).ended;
        await fleet.launch(0, settings);
        await fleet.launch(2, settings);
        const other = fleet.client(2);
        await expect
          .poll(() => listed(other), { timeout: 2 * LIMIT_MS })
          .toEqual(kept);
        const after = kept.map((id) => contentOf(other, id));
        expect(await Promise.all(after)).toEqual(before);
        expect((await auditOf(other)).toSorted()).toEqual(gone);
        expect(gone).toContain(taskId);
        const rest = restInFleet(database, fleet, schema, marker);
        expect(await rest).toEqual([]);
      },
    );
  },
  LEFT_TO_CI,
);

describe.skipIf(LEFT_TO_CI !== "")(
  `a deletion at a server that is killed and started again${LEFT_TO_CI}`,
  () => {
    it.each(variantsOf("failpoints", ON_SQLITE, 1, 1))(
      "leaves a whole task or nothing of it, and all other tasks, at %s",
      { timeout: 3 * LIMIT_MS },
      async (point) => {
        const base = temporaryDirectory();
        const data = join(base, "data");
        const report = join(base, "report");
        const place = placeIn(base);
        const killed = await startServing(place, {
          ...process.env,
          NODE_OPTIONS: `--import ${KILL_AT}`,
          [KILL_ORDER]: JSON.stringify(orderOf(point, "signal", report)),
        });
        const client = clientOf(killed.info);
        await using stack = new AsyncDisposableStack();
        stack.defer(() => killed.kill());
        await playKill({
          point,
          report,
          one: client,
          killed: {
            client,
            arm: () => process.kill(killed.info.pid, "SIGUSR2"),
            ended: killed.ended,
          },
          survivor: async () => {
            const again = await startServing(place);
            stack.defer(() => again.kill());
            return clientOf(again.info);
          },
          rest: async (marker) => filesWith(data, marker),
        });
        await verifyByCommand(["--data", data]);
      },
    );

    it.skipIf(LEFT_TO_DEEP !== "").each([
      ...ON_SQLITE.map((point) => [point, 1] as const),
      // After 32 of the tasks.
      ["store.delete.before", 2] as const,
    ])(
      `is done after the start where the retention is killed at %s, passage %s${LEFT_TO_DEEP}`,
      { timeout: 3 * LIMIT_MS },
      async (point, passage) => {
        const base = temporaryDirectory();
        const report = join(base, "report");
        const place = placeIn(base, "\n[retention]\nmax_tasks = 2");
        await using stack = new AsyncDisposableStack();
        const start = async (order?: KillOrder) => {
          const server = await startServing(place, {
            ...process.env,
            // Its first listener comes first: it is armed when it looks.
            NODE_OPTIONS: `--import ${KILL_AT} --import ${LOOK}`,
            ...(order && { [KILL_ORDER]: JSON.stringify(order) }),
          });
          stack.defer(() => server.kill());
          const look = () => process.kill(server.info.pid, "SIGUSR2");
          return { server, client: clientOf(server.info), look };
        };
        const one = await start({
          ...orderOf(point, "signal", report),
          passage,
        });
        const { taskId, marker } = await doomedTask(one.client);
        for (let each = 0; each < 32 * (passage - 1); each++) {
          await completed(one.client, "text gone");
        }
        const gone = await listed(one.client);
        for (const name of ["one", "two"]) {
          await completed(one.client, `text ${name}`);
        }
        const all = await listed(one.client);
        const kept = all.filter((id) => !gone.includes(id));
        const contents = (client: DevtoolClient, ids: readonly string[]) =>
          Promise.all(ids.map((id) => contentOf(client, id)));
        const before = await contents(one.client, all);
        one.look();
        await one.server.ended;
        expect(readFileSync(report, "utf8")).toBe(CARRIED_OUT);
        const { client, look } = await start();
        // Each task is whole, or there is nothing of it.
        const left = await listed(client);
        expect(left).toEqual(expect.arrayContaining(kept));
        expect(await contents(client, left)).toEqual(
          before.filter((_content, at) => left.includes(all[at] ?? "")),
        );
        look();
        await expect.poll(() => listed(client)).toEqual(kept);
        expect((await auditOf(client)).toSorted()).toEqual(gone);
        expect(gone).toContain(taskId);
        const data = join(base, "data");
        await expect.poll(() => filesWith(data, marker)).toEqual([]);
        await verifyByCommand(["--data", data]);
      },
    );

    it.skipIf(LEFT_TO_DEEP !== "")(
      `passes no other failpoint${LEFT_TO_DEEP}`,
      { timeout: 2 * LIMIT_MS },
      async () => {
        const { file, order } = countOrder();
        const base = temporaryDirectory();
        const server = await startServing(placeIn(base), {
          ...process.env,
          NODE_OPTIONS: `--import ${COUNT}`,
          [COUNT_ORDER]: order,
        });
        await using stack = new AsyncDisposableStack();
        stack.defer(() => server.kill());
        const client = clientOf(server.info);
        const { taskId, marker } = await doomedTask(client);
        process.kill(server.info.pid, "SIGUSR2");
        await client.tasks.deleteTask({ taskId });
        await expect
          .poll(() => filesWith(join(base, "data"), marker))
          .toEqual([]);
        process.kill(server.info.pid, "SIGUSR2");
        expect(await passed(file)).toEqual(ON_SQLITE.map(nameOf).toSorted());
      },
    );
  },
);

/** A task, and a text that is in all that is kept of it. */
interface Marked {
  readonly taskId: string;
  readonly marker: string;
}

interface Kill {
  readonly point: string;
  /** The file that says how the order went. */
  readonly report: string;
  /** A client of the server at which the tasks begin. */
  readonly one: DevtoolClient;
  readonly killed: {
    readonly client: DevtoolClient;
    readonly arm: () => void;
    readonly ended: Promise<unknown>;
  };
  /** Returns a client of a server that lives after the kill. */
  readonly survivor: () => Promise<DevtoolClient>;
  /** Returns the places that have a text. */
  readonly rest: (marker: string) => Promise<readonly string[]>;
}

/** Deletes a task at a server that is killed at a failpoint, and looks. */
async function playKill(kill: Kill): Promise<void> {
  const { point, report, one, killed, survivor, rest } = kill;
  const { taskId, marker } = await doomedTask(one);
  const kept = (await listed(one)).filter((id) => id !== taskId);
  // Those of the conversation, of the agent that was called, and of before.
  expect(kept.length).toBeGreaterThanOrEqual(2);
  const before = await Promise.all(kept.map((id) => contentOf(one, id)));
  const whole = await contentOf(one, taskId);
  expect([point, await rest(marker)]).not.toEqual([point, []]);
  killed.arm();
  await expect
    .poll(() => existsSync(report) && readFileSync(report, "utf8"))
    .toBe(ARMED);
  const told = await deletion(killed.client, taskId);
  await expect.poll(() => readFileSync(report, "utf8")).toBe(CARRIED_OUT);
  await killed.ended;
  const client = await survivor();
  const left = await contentOf(client, taskId);
  const isWhole = [
    ...BEFORE_COMMIT_ON_POSTGRES,
    ...BEFORE_COMMIT_ON_SQLITE,
  ].includes(point);
  expect([point, left]).toEqual([point, isWhole ? whole : undefined]);
  if (told === "deleted") expect([point, isWhole]).toEqual([point, false]);
  const records = await auditOf(client);
  expect([point, records.includes(taskId)]).toEqual([point, !left]);
  const again = await deletion(client, taskId);
  expect([point, again]).toEqual([point, left ? "deleted" : "NotFound"]);
  expect((await auditOf(client)).filter((id) => id === taskId)).toHaveLength(1);
  await expect.poll(() => rest(marker)).toEqual([]);
  const after = await Promise.all(kept.map((id) => contentOf(client, id)));
  expect(after).toEqual(before);
  expect(await listed(client)).toEqual(kept);
}

/** Begins a task that all of a deletion is about, and lets it end. */
async function doomedTask(client: DevtoolClient): Promise<Marked> {
  const marker = `doomed-${crypto.randomUUID()}`;
  const script = [
    `read ${marker}.txt`,
    'call agent_helper {"message":"help"}',
    `${BULK}\ntext ${marker}`,
  ].join("\nnext\n");
  const { id: taskId, contextId } = await completed(client, script);
  const url = `http://127.0.0.1:9/${marker}`;
  await client.push.setPushConfig({ config: { id: "c", taskId, url } });
  await completed(client, "text A task that goes on.", contextId);
  return { taskId, marker };
}

async function completed(
  client: DevtoolClient,
  script: string,
  contextId = "",
) {
  const message = textMessage(crypto.randomUUID(), script);
  const { task } = await client.tasks.sendMessage({ message, contextId });
  expect([task?.state, task?.error]).toEqual([TaskState.COMPLETED, ""]);
  if (!task) throw new Error("there is no task");
  return task;
}

/** Deletes a task, and returns how that went. */
async function deletion(
  client: DevtoolClient,
  taskId: string,
): Promise<string> {
  try {
    await client.tasks.deleteTask({ taskId });
    return "deleted";
  } catch (reason) {
    return Code[ConnectError.from(reason).code];
  }
}

/** Returns all of a task; undefined for one that is not there. */
async function contentOf(client: DevtoolClient, taskId: string) {
  try {
    const { task } = await client.tasks.getTask({ taskId });
    const events = client.tasks.subscribeTask({ taskId });
    return {
      task: task && toJson(TaskSchema, task),
      events: (await Array.fromAsync(events)).length,
    };
  } catch (reason) {
    if (ConnectError.from(reason).code === Code.NotFound) return undefined;
    throw reason;
  }
}

async function listed(client: DevtoolClient): Promise<string[]> {
  const { tasks } = await client.tasks.listTasks({ pageSize: 100 });
  return tasks.map(({ id }) => id).toSorted();
}

/** Verifies the audit log, and returns the tasks that it says are deleted. */
async function auditOf(client: DevtoolClient): Promise<string[]> {
  async function* records() {
    for await (const { record } of client.audit.readAudit({})) {
      if (record) yield record;
    }
  }
  const { fault, deleted } = await verifyAudit(records());
  expect(fault).toBeUndefined();
  return deleted.map(({ taskId }) => taskId);
}

/** Has `devtool audit verify` look. */
async function verifyByCommand(place: readonly string[]): Promise<void> {
  const args = [MAIN, "audit", "verify", ...place];
  const verify = spawn(process.execPath, args, {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [said, [code]] = await Promise.all([
    text(verify.stdout),
    once(verify, "exit"),
  ]);
  expect([code, said]).toEqual([0, expect.stringMatching(/^verified \d+ rec/)]);
}

/** Returns the tables and the files of a fleet that have a text. */
async function restInFleet(
  { run }: Pick<Parameters<typeof ServerFleet.start>[0]["database"], "run">,
  fleet: ServerFleet,
  schema: string,
  marker: string,
): Promise<string[]> {
  const tables = await run(
    `SELECT table_name FROM information_schema.tables WHERE table_schema = '${schema}'`,
  );
  const found: string[] = [];
  for (const { table_name: name } of tables) {
    const hex = Buffer.from(marker).toString("hex");
    const rows = await run(
      `SELECT 1 FROM ${schema}.${name} AS each WHERE each::text LIKE '%${marker}%' OR each::text LIKE '%${hex}%'`,
    );
    if (rows.length > 0) found.push(String(name));
  }
  return [...found, ...filesWith(join(fleet.workspace, ".."), marker)];
}

/** Returns the files below a directory whose bytes have a text. */
function filesWith(directory: string, marker: string): string[] {
  return globSync("**/*", { cwd: directory, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => {
      try {
        return readFileSync(path).includes(marker);
      } catch (reason) {
        // A server has removed it meanwhile.
        if (existsSync(path)) throw reason;
        return false;
      }
    });
}

function placeIn(base: string, more = ""): string[] {
  for (const name of ["data", "work"]) {
    mkdirSync(join(base, name), { mode: 0o700 });
  }
  const config = join(base, "data", "config.toml");
  writeFileSync(config, SETTINGS + more, { mode: 0o600 });
  return [
    ...["--data", join(base, "data"), "--workspace", join(base, "work")],
    ...FLAGS,
  ];
}

function orderOf(
  point: string,
  from: KillOrder["from"],
  report: string,
): KillOrder {
  return { failpoint: nameOf(point), passage: 1, from, report };
}

function nameOf(point: string): string {
  return `devtool:${point}`;
}

/** Starts the second server of a fleet with an order. */
async function launchKilled(
  fleet: ServerFleet,
  order: KillOrder,
  settings?: string,
): Promise<void> {
  process.env[KILL_ORDER] = JSON.stringify(order);
  try {
    await fleet.launch(1, settings);
  } finally {
    delete process.env[KILL_ORDER];
  }
}

/** Has a server count all failpoints that are in the code. */
function countOrder(): { readonly file: string; readonly order: string } {
  const file = join(temporaryDirectory(), "counts");
  const failpoints = globSync("packages/*/src/**/*.ts", { cwd: ROOT }).flatMap(
    (path) =>
      [...fileText(ROOT, path).matchAll(/failpoint\("([^"]+)"\)/g)].map(
        ([, name = ""]) => name,
      ),
  );
  expect(failpoints.length).toBeGreaterThan(100);
  return { file, order: JSON.stringify({ failpoints, file }) };
}

/** Returns the failpoints that a server has passed, once it has said so. */
async function passed(file: string): Promise<string[]> {
  await expect
    .poll(() => existsSync(file) && readFileSync(file, "utf8"))
    .toMatch(/\}$/);
  return Object.keys(JSON.parse(readFileSync(file, "utf8")))
    .filter((name) => !ANY_TIME.test(name))
    .toSorted();
}
