import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Seen, stream, taskIdOf } from "./client.ts";
import { type Subject, type SubjectCommand, startSubject } from "./subject.ts";

/** So often each figure is taken; its median counts. */
export const RUNS = 15;

/** What was measured, by name; the unit is in the name. */
export type Figures = Map<string, number>;

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

async function repeat(times: number, run: () => Promise<number>): Promise<number> {
  const values: number[] = [];
  for (let index = 0; index < times; index++) values.push(await run());
  return median(values);
}

/** Memory, and what a turn costs beside its model. */
export async function measureTurns(subject: Subject, figures: Figures): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 500));
  figures.set("idle MB", subject.memoryMb());
  for (let index = 0; index < 10; index++) await stream(subject, subject.prompt("text hello"));
  figures.set("MB after 10 tasks", subject.memoryMb());
  for (let index = 0; index < 40; index++) await stream(subject, subject.prompt("text hello"));
  figures.set("MB after 50 tasks", subject.memoryMb());
  figures.set(
    "new task, ms",
    await repeat(RUNS, async () => (await stream(subject, subject.prompt("text hello"))).totalMs),
  );
  const task = taskIdOf(await stream(subject, subject.prompt("text hello")));
  const follow = (text: string) => stream(subject, { ...subject.prompt(text), taskId: task });
  await follow("text warm");
  figures.set("follow-up turn, ms", await repeat(RUNS, async () => (await follow("text hello")).totalMs));
  writeFileSync(join(subject.workspace, "file.txt"), "content\n");
  const file = subject.absolutePaths ? join(subject.workspace, "file.txt") : "file.txt";
  await follow(`read ${file}`);
  figures.set("one read, ms", await repeat(RUNS, async () => (await follow(`read ${file}`)).totalMs));
  figures.set("ten reads side by side, ms", await repeat(RUNS, async () => (await follow(`read ${file} x10`)).totalMs));
  figures.set("ten reads, KiB on the wire", (await follow(`read ${file} x10`)).bytes / 1024);
}

/** How fast text streams, to one client and to many. */
export async function measureStreams(subject: Subject, figures: Figures): Promise<void> {
  await stream(subject, subject.prompt("say 2000"));
  const rate = (seen: Seen): number => (seen.events / seen.totalMs) * 1000;
  figures.set(
    "5,000 chunks, events/s",
    await repeat(5, async () => rate(await stream(subject, subject.prompt("say 5000")))),
  );
  const start = performance.now();
  const all = await Promise.all(Array.from({ length: 20 }, () => stream(subject, subject.prompt("say 500"))));
  const events = all.reduce((sum, seen) => sum + seen.events, 0);
  figures.set("20 x 500 chunks, events/s", (events / (performance.now() - start)) * 1000);
  figures.set("20 x 500, first event of the slowest, ms", Math.max(...all.map(({ firstMs }) => firstMs)));
  figures.set("MB at the end", subject.memoryMb());
}

/** 10 MB of output of one command: what the stream of its exchange costs. */
export async function measureOutput(subject: Subject, figures: Figures): Promise<void> {
  const asked = await stream(subject, subject.prompt("run head -c 10000000 /dev/zero | tr '\\\\0' x | fold -w 100"));
  const [, call = ""] = /"tool_call_id":"([^"]+)"/.exec(asked.text) ?? [];
  const data = { tool_call_id: call, selected_option_id: "proceed_once" };
  const seen = await stream(subject, { parts: [{ kind: "data", data }], taskId: taskIdOf(asked) });
  figures.set("10 MB of shell output, KiB on the wire", seen.bytes / 1024);
}

/** Starts a server some times for its start, then drives it through each play. */
export async function measure(
  command: SubjectCommand,
  plays: readonly ((subject: Subject, figures: Figures) => Promise<void>)[],
): Promise<Figures> {
  const figures: Figures = new Map();
  const starts: number[] = [];
  for (let index = 0; index < 4; index++) {
    await using subject = await startSubject(command);
    starts.push(subject.startMs);
  }
  figures.set("start to card, ms", median(starts));
  await using subject = await startSubject(command);
  for (const play of plays) await play(subject, figures);
  return figures;
}
