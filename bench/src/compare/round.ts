import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import {
  devtoolOf,
  ROOT,
  type Subject,
  type SubjectCommand,
  startSubject,
} from "../subject.ts";
import { beginTask, PLAYS, type Play } from "./plays.ts";

/** A figure of both sides in one round. */
export interface Pair {
  readonly base: number;
  readonly now: number;
}

/** A repository that is measured. */
interface Side {
  readonly key: keyof Pair;
  readonly repository: string;
  readonly command: SubjectCommand;
  /** Where Node keeps the code that it compiled. */
  readonly cache: string;
}

/** The base and this repository. */
export interface Sides extends AsyncDisposable {
  readonly all: readonly Side[];
}

/** The blocks of each play that a server does in a round. */
const BLOCKS = 3;
/** A server is at rest this long after it listens, in milliseconds. */
const AT_REST_MS = 500;

/**
 * Starts each server once, so that the compiled code that Node keeps is there.
 * `sabotage` names what is wrong with the one of this repository, if anything.
 */
export async function startSides(
  base: string,
  sabotage: string,
): Promise<Sides> {
  const caches = mkdtempSync(join(tmpdir(), "devtool-bench-caches-"));
  const side = (key: keyof Pair, repository: string): Side => {
    const command = devtoolOf(repository);
    const cache = join(caches, key);
    const env = { XDG_CACHE_HOME: cache };
    return { key, repository, command: { ...command, env }, cache };
  };
  const now = side("now", ROOT);
  const all = [side("base", base), sabotage ? sabotaged(now, sabotage) : now];
  for (const { command } of all) {
    await (await startSubject(command))[Symbol.asyncDispose]();
  }
  return {
    all,
    [Symbol.asyncDispose]: async () => rmSync(caches, { recursive: true }),
  };
}

function sabotaged(side: Side, name: string): Side {
  const { args, env } = side.command;
  const hook = fileURLToPath(
    new URL("../load/sabotage-import.ts", import.meta.url),
  );
  return {
    ...side,
    command: {
      ...side.command,
      args: (directory) => ["--import", hook, ...args(directory)],
      env: { ...env, DEVTOOL_BENCH_SABOTAGE: name },
    },
  };
}

/** A server of a side in a round, with the task of its plays. */
interface Player {
  readonly side: Side;
  readonly server: Subject;
  readonly taskId: string;
}

/**
 * Measures every row once, with new servers. The side that begins changes from
 * round to round: other load of the machine then affects both.
 */
export async function playRound(
  { all }: Sides,
  round: number,
): Promise<ReadonlyMap<string, Pair>> {
  const sides = round % 2 === 0 ? all : all.toReversed();
  const figures = new Map<string, Pair>();
  const add = (row: string, { key }: Side, value: number): void => {
    const figure = figures.get(row) ?? { base: 0, now: 0 };
    figures.set(row, { ...figure, [key]: figure[key] + value });
  };
  await using servers = new AsyncDisposableStack();
  const players: Player[] = [];
  for (const side of sides) {
    const server = servers.use(await startSubject(side.command));
    add("start.cpu-ms", side, server.listeningCpuMs);
    await delay(AT_REST_MS);
    add("idle.mb", side, server.memoryMb());
    players.push({ side, server, taskId: await beginTask(server) });
  }
  for (const play of PLAYS) {
    for (const { server, taskId } of players) await play.run(server, taskId);
    for (let block = 0; block < BLOCKS; block++) {
      for (const player of players.reverse()) {
        add(play.row, player.side, await blockUs(play, player));
      }
    }
  }
  for (const side of sides) {
    const us = appendUs(side);
    if (us !== undefined) add("append.cpu-us", side, us);
  }
  return new Map(
    [...figures].filter(([, { base, now }]) => base > 0 && now > 0),
  );
}

/** The processor time of a unit in one block, as its share of a round. */
async function blockUs(
  { run, units }: Play,
  { server, taskId }: Player,
): Promise<number> {
  const before = server.processorMs();
  await run(server, taskId);
  return ((server.processorMs() - before) * 1000) / units / BLOCKS;
}

const APPENDS = [
  "--experimental-transform-types",
  "--disable-warning=ExperimentalWarning",
  "--conditions=@devtool/source",
  "--import",
  fileURLToPath(new URL("packages-of.ts", import.meta.url)),
  fileURLToPath(new URL("appends.ts", import.meta.url)),
];

/** Undefined where the code of the repository has other names for its parts. */
function appendUs({ repository, cache }: Side): number | undefined {
  const { status, stdout } = spawnSync(process.execPath, APPENDS, {
    encoding: "utf8",
    env: {
      ...process.env,
      DEVTOOL_BENCH_TREE: repository,
      NODE_COMPILE_CACHE: cache,
    },
  });
  return status === 0 ? Number(stdout) : undefined;
}
