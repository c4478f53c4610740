import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { inspect } from "node:util";
import { create, toBinary } from "@bufbuild/protobuf";
import { PushProgressSchema, TaskState } from "@devtool/schema";
import { checkWorld } from "./check-world.ts";
import type { KillOrder } from "./kill-at.ts";
import { type Scene, sceneOf } from "./scenes.ts";
import { type Life, World } from "./world.ts";

/** The outcome of killing a server at one failpoint repeatedly. */
export interface FailpointReport {
  readonly failpoint: string;
  readonly kills: number;
  /** How often it was not passed in time. */
  readonly missed: number;
  readonly tasks: number;
  readonly events: number;
  readonly toolsRun: number;
  readonly interrupted: number;
  readonly violations: readonly string[];
}

/** A fault of the server, to see that the check notices. */
export type Sabotage =
  | "none"
  | "late commit"
  | "forget posts"
  | "forget audit"
  | "forget starts";

/** How often to kill, where. */
export interface KillOptions {
  readonly failpoint: string;
  readonly kills: number;
  readonly sabotage: Sabotage;
  /**
   * A post that does not come in this time is lost, in milliseconds. Default
   * 30,000.
   */
  readonly postTimeoutMs?: number;
}

/** At which passage of a failpoint a server is killed, in turn. */
const PASSAGES = [1, 2, 5, 3, 8] as const;
/** A failpoint that was not passed in this time is missed. */
const PATIENCE_MS = 30_000;

/**
 * Kills a server at a failpoint again and again, each time on the data that the
 * last kill left, and checks them after each (R3).
 */
export async function killAt({
  failpoint,
  kills,
  sabotage,
  postTimeoutMs = PATIENCE_MS,
}: KillOptions): Promise<FailpointReport> {
  const scene = sceneOf(failpoint);
  await using world = await World.open(
    sabotage === "late commit" ? "late commit" : "none",
    postTimeoutMs,
  );
  const total = {
    failpoint,
    kills: 0,
    missed: 0,
    tasks: 0,
    events: 0,
    toolsRun: 0,
    interrupted: 0,
  };
  const violations: string[] = [];
  const check = async (life: Life): Promise<void> => {
    const report = await checkWorld(life);
    for (const name of [
      "tasks",
      "events",
      "toolsRun",
      "interrupted",
    ] as const) {
      total[name] += report[name];
    }
    violations.push(
      ...report.violations.map(
        (violation) => `after ${total.kills} kills: ${violation}`,
      ),
    );
  };
  try {
    while (total.kills + total.missed < kills) {
      const order = orderFor(failpoint, scene, total.kills);
      if (scene.moment === "start") {
        await leaveTasks(world, scene, check);
      } else if (total.kills > 0 && isFirstMet(order, scene)) {
        await checkBetween(world, scene, check);
      }
      await scene.prepare?.(world);
      if (scene.killedFirstAt !== undefined) {
        await liveUntil(
          world,
          scene,
          { failpoint: scene.killedFirstAt, passage: 1, from: "start" },
          check,
        );
      }
      if (await liveUntil(world, scene, order, check)) {
        total.kills++;
      } else {
        total.missed++;
      }
      damage(join(world.data, "tasks.db"), sabotage);
    }
    await checkBetween(world, scene, check);
  } catch (reason) {
    violations.push(`after ${total.kills} kills: ${inspect(reason)}`);
  }
  return { ...total, violations };
}

/**
 * Half of the servers are killed from their start on, while they recover or
 * work; the others once what was before is checked.
 */
function orderFor(
  failpoint: string,
  { moment, once }: Scene,
  kills: number,
): KillOrder {
  const passage = once ? 1 : (PASSAGES[kills % PASSAGES.length] ?? 1);
  const fromStart = once === true || moment !== undefined || kills % 2 === 1;
  return { failpoint, passage, from: fromStart ? "start" : "signal" };
}

/**
 * Whether a server passes its failpoint before what the last kill left can be
 * checked, and so does the next.
 */
function isFirstMet({ from }: KillOrder, { moment, once }: Scene): boolean {
  return from === "start" && once === true && moment !== "stop";
}

/**
 * Checks what the last kill left, and leaves tasks to a server that is killed
 * before it serves anybody: one that rests, and one that a crash ends at its
 * work.
 */
async function leaveTasks(
  world: World,
  scene: Scene,
  check: (life: Life) => Promise<void>,
): Promise<void> {
  const life = await world.start(scene);
  if (!life) throw new Error("a server without an order was killed");
  const begun = [];
  try {
    await check(life);
    begun.push(life.begin(), life.begin());
    await Promise.race(begun);
  } finally {
    await life.kill();
    await Promise.allSettled(begun);
  }
}

/**
 * Lets a server live that is not killed at a failpoint, to check what the last
 * kill left.
 */
async function checkBetween(
  world: World,
  scene: Scene,
  check: (life: Life) => Promise<void>,
): Promise<void> {
  const life = await world.start(scene);
  if (!life) throw new Error("a server without an order was killed");
  try {
    await check(life);
  } finally {
    await life.stop();
  }
}

/**
 * Lets a server live until it is killed at its failpoint; false when it is not.
 */
async function liveUntil(
  world: World,
  scene: Scene,
  order: KillOrder,
  check: (life: Life) => Promise<void>,
): Promise<boolean> {
  const life = await world.start(scene, order);
  if (!life) return true;
  try {
    if (order.from === "signal") {
      await check(life);
      life.arm();
    } else if (scene.moment === "stop") {
      await check(life);
    }
    if (scene.moment === "start") return false;
    return await liveOn(life, scene);
  } catch (reason) {
    await Promise.race([life.ended, delay(2000, undefined, { ref: false })]);
    if (life.isOver) return true;
    throw reason;
  } finally {
    await life.kill();
  }
}

/**
 * Works, and stops when the scene has it so; whether the server was killed in
 * time.
 */
async function liveOn(life: Life, { moment }: Scene): Promise<boolean> {
  if (moment === "stop") {
    await life.begin();
    await Promise.race([
      life.stop(),
      delay(PATIENCE_MS, undefined, { ref: false }),
    ]);
    return life.wasKilled;
  }
  const late = delay(PATIENCE_MS, "late", { ref: false });
  const outcome = await Promise.race([life.work().then(() => "over"), late]);
  return outcome === "over";
}

/** Damages the data as a server with the fault would. */
function damage(path: string, sabotage: Sabotage): void {
  const fault = FAULTS[sabotage];
  if (!fault) return;
  const database = new DatabaseSync(path);
  fault(database);
  database.close();
}

const FAULTS: Partial<Record<Sabotage, (database: DatabaseSync) => void>> = {
  "forget posts": forgetPosts,
  "forget audit": (database) =>
    database.exec(
      "DELETE FROM audit WHERE number = (SELECT max(number) - 1 FROM audit)",
    ),
  "forget starts": forgetStarts,
};

/** All events count as posted. */
function forgetPosts(database: DatabaseSync): void {
  const save = database.prepare(
    "UPDATE push_config SET progress = ? WHERE task_id = ?",
  );
  for (const { id, sequence } of database
    .prepare("SELECT id, sequence FROM task")
    .all()) {
    save.run(
      toBinary(
        PushProgressSchema,
        create(PushProgressSchema, { cursor: BigInt(Number(sequence)) }),
      ),
      String(id),
    );
  }
}

/** The last call of each task has not begun, and nothing came after it. */
function forgetStarts(database: DatabaseSync): void {
  const begun =
    "SELECT task_id, max(sequence) AS sequence FROM event WHERE instr(data, x'1002') GROUP BY task_id";
  for (const { task_id: id, sequence } of database.prepare(begun).all()) {
    if (id === undefined || sequence === undefined) continue;
    database
      .prepare("DELETE FROM event WHERE task_id = ? AND sequence >= ?")
      .run(id, sequence);
    database
      .prepare(
        "UPDATE task SET sequence = (SELECT max(sequence) FROM event WHERE task_id = id), state = ? WHERE id = ?",
      )
      .run(TaskState.WORKING, id);
  }
}
