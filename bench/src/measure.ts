import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stream, taskIdOf } from "./client.ts";
import { median } from "./load/row.ts";
import { type Subject, type SubjectCommand, startSubject } from "./subject.ts";

/**
 * The number of turns, or streams, that are measured after the warm-up; the
 * median counts.
 */
export const TURNS = 51;
export const STREAMS = 15;

/**
 * Warm-up turns (or streams) of the same kind before a figure is taken: by then
 * V8 has compiled the hot code.
 */
const WARM_TURNS = 1000;
const WARM_STREAMS = 5;

/**
 * Turns of one task in the bench. Kept small, since the cost of a long history
 * is measured elsewhere.
 */
const TURNS_PER_TASK = 16;

/** The measured figures, by name; the unit is in the name. */
export type Figures = Map<string, number>;

async function repeat(
  times: number,
  run: () => Promise<number>,
): Promise<number> {
  const values: number[] = [];
  for (let index = 0; index < times; index++) values.push(await run());
  return median(values);
}

/** Memory, and what a turn costs beside its model. */
export async function measureTurns(
  subject: Subject,
  figures: Figures,
): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 500));
  figures.set("idle MB", subject.memoryMb());
  const newTask = () => stream(subject, subject.prompt("text hello"));
  figures.set("first task of a process, ms", (await newTask()).totalMs);
  for (let index = 1; index < 10; index++) await newTask();
  figures.set("MB after 10 tasks", subject.memoryMb());
  for (let index = 10; index < 50; index++) await newTask();
  figures.set("MB after 50 tasks", subject.memoryMb());
  figures.set(
    "follow-up turn, the first fifty, ms",
    median(await turns(subject, "text hello", 50)),
  );
  writeFileSync(join(subject.workspace, "file.txt"), "content\n");
  const file = subject.absolutePaths
    ? join(subject.workspace, "file.txt")
    : "file.txt";
  figures.set("follow-up turn, ms", await warmTurn(subject, "text hello"));
  figures.set("one read, ms", await warmTurn(subject, `read ${file}`));
  figures.set(
    "ten reads side by side, ms",
    await warmTurn(subject, `read ${file} x10`),
  );
  figures.set(
    "new task, ms",
    await repeat(TURNS, async () => (await newTask()).totalMs),
  );
  figures.set(
    "ten reads, KiB on the wire",
    (await stream(subject, subject.prompt(`read ${file} x10`))).bytes / 1024,
  );
}

/**
 * How long a turn takes in a task that exists, when many of its kind have gone
 * before.
 */
async function warmTurn(subject: Subject, text: string): Promise<number> {
  await turns(subject, text, WARM_TURNS);
  return median(await turns(subject, text, TURNS));
}

/**
 * Plays turns one after the other, each task beginning with one of text; gives
 * how long each took.
 */
async function turns(
  subject: Subject,
  text: string,
  times: number,
): Promise<number[]> {
  const taken: number[] = [];
  let taskId = "";
  for (let index = 0; index < times; index++) {
    if (index % TURNS_PER_TASK === 0) {
      taskId = taskIdOf(await stream(subject, subject.prompt("text hello")));
    }
    taken.push(
      (await stream(subject, { ...subject.prompt(text), taskId })).totalMs,
    );
  }
  return taken;
}

/** How fast text streams, to one client and to many. */
export async function measureStreams(
  subject: Subject,
  figures: Figures,
): Promise<void> {
  const rate = async (): Promise<number> => {
    const seen = await stream(subject, subject.prompt("say 5000"));
    return (seen.events / seen.totalMs) * 1000;
  };
  await repeat(WARM_STREAMS, rate);
  figures.set("5,000 chunks, events/s", await repeat(STREAMS, rate));
  const start = performance.now();
  const all = await Promise.all(
    Array.from({ length: 20 }, () =>
      stream(subject, subject.prompt("say 500")),
    ),
  );
  const events = all.reduce((sum, seen) => sum + seen.events, 0);
  figures.set(
    "20 x 500 chunks, events/s",
    (events / (performance.now() - start)) * 1000,
  );
  figures.set(
    "20 x 500, first event of the slowest, ms",
    Math.max(...all.map(({ firstMs }) => firstMs)),
  );
  figures.set("MB at the end", subject.memoryMb());
}

/** 10 MB of output of one command: what the stream of its exchange costs. */
export async function measureOutput(
  subject: Subject,
  figures: Figures,
): Promise<void> {
  const asked = await stream(
    subject,
    subject.prompt(
      "run head -c 10000000 /dev/zero | tr '\\\\0' x | fold -w 100",
    ),
  );
  const [, call = ""] = /"tool_call_id":"([^"]+)"/.exec(asked.text) ?? [];
  const data = { tool_call_id: call, selected_option_id: "proceed_once" };
  const seen = await stream(subject, {
    parts: [{ kind: "data", data }],
    taskId: taskIdOf(asked),
  });
  figures.set("10 MB of shell output, KiB on the wire", seen.bytes / 1024);
}

/**
 * Starts a server several times to measure its start, then drives it through
 * each play.
 *
 * The code that the first start compiles is kept for the others, as for a user,
 * and the median leaves that start out.
 */
export async function measure(
  { env, ...rest }: SubjectCommand,
  plays: readonly ((subject: Subject, figures: Figures) => Promise<void>)[],
): Promise<Figures> {
  const figures: Figures = new Map();
  const starts: number[] = [];
  const cache = mkdtempSync(join(tmpdir(), "devtool-bench-cache-"));
  using _removed = {
    [Symbol.dispose]: () => rmSync(cache, { recursive: true, force: true }),
  };
  const command = { ...rest, env: { ...env, XDG_CACHE_HOME: cache } };
  for (let index = 0; index < 5; index++) {
    await using subject = await startSubject(command);
    starts.push(subject.startMs);
  }
  figures.set("start to card, ms", median(starts));
  await using subject = await startSubject(command);
  for (const play of plays) await play(subject, figures);
  return figures;
}
