import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { stream, taskIdOf } from "./client.ts";
import { median } from "./load/row.ts";
import { type Subject, type SubjectCommand, startSubject } from "./subject.ts";

/**
 * The number of blocks of turns, or of streams, that are measured after the
 * warm-up; the median counts.
 */
export const BLOCKS = 6;

/** Turns of a block, which are those of one task: long histories cost more. */
export const BLOCK_TURNS = 16;

/**
 * Warm-up blocks, or streams, of the same kind before a figure is taken: by
 * then V8 has compiled the hot code.
 */
const WARM_BLOCKS = 20;
const WARM_STREAMS = 2;

/** Events of a stream. */
const CHUNKS = 5000;

/** Starts of each server; the first, which fills a cache, is not counted. */
const STARTS = 6;

/** The measured figures, by name; the unit is in the name. */
export type Figures = Map<string, number>;

/** A server that is measured, and its column of the table. */
export interface Measured {
  readonly title: string;
  readonly command: SubjectCommand;
  readonly plays: readonly Play[];
}

/** A server that runs, and what was measured of it. */
interface Side {
  readonly subject: Subject;
  readonly figures: Figures;
}

/** Drives servers in turns, so that other load of the machine affects all. */
type Play = (sides: readonly Side[]) => Promise<void>;

/** Measures servers beside each other: their starts, then each play. */
export async function measure(
  measured: readonly Measured[],
): Promise<readonly Figures[]> {
  const cache = mkdtempSync(join(tmpdir(), "devtool-bench-cache-"));
  using _removed = {
    [Symbol.dispose]: () => rmSync(cache, { recursive: true, force: true }),
  };
  const commands = measured.map(({ command }) => ({
    ...command,
    env: { ...command.env, XDG_CACHE_HOME: cache },
  }));
  const figures = await measureStarts(commands);
  await using servers = new AsyncDisposableStack();
  const sides: Side[] = [];
  for (const [index, command] of commands.entries()) {
    const subject = servers.use(await startSubject(command));
    sides.push({ subject, figures: figures[index] ?? new Map() });
  }
  const plays = new Set(measured.flatMap(({ plays }) => plays));
  for (const play of plays) {
    await play(sides.filter((_side, at) => measured[at]?.plays.includes(play)));
  }
  return figures;
}

/** Starts servers in turns, and plays the first task of each process. */
async function measureStarts(
  commands: readonly SubjectCommand[],
): Promise<readonly Figures[]> {
  const starts = commands.map(() => new Samples());
  for (let round = 0; round < STARTS; round++) {
    for (const [index, command] of commands.entries()) {
      await using subject = await startSubject(command);
      const { startMs } = subject;
      const startCpuMs = subject.processorMs();
      await delay(500);
      const before = subject.processorMs();
      const { totalMs } = await stream(subject, subject.prompt("text hello"));
      if (round === 0) continue;
      starts[index]?.add("start to card, ms", startMs);
      starts[index]?.add("start to card, cpu ms", startCpuMs);
      starts[index]?.add("first task of a process, ms", totalMs);
      starts[index]?.add(
        "first task of a process, cpu ms",
        subject.processorMs() - before,
      );
    }
  }
  return starts.map((samples) => samples.medians());
}

/** Memory, and what a turn costs. */
export async function measureTurns(sides: readonly Side[]): Promise<void> {
  await delay(500);
  const noteMemory = (name: string): void => {
    for (const { subject, figures } of sides) {
      figures.set(name, subject.memoryMb());
    }
  };
  const newTask = (subject: Subject) =>
    stream(subject, subject.prompt("text hello"));
  noteMemory("idle MB");
  await inTurns(sides, 10, newTask);
  noteMemory("MB after 10 tasks");
  await inTurns(sides, 40, newTask);
  noteMemory("MB after 50 tasks");
  await measureUnit(sides, "follow-up turn, the first fifty", 0, 3, (subject) =>
    turns(subject, "text hello"),
  );
  await measureUnit(sides, "follow-up turn", WARM_BLOCKS, BLOCKS, (subject) =>
    turns(subject, "text hello"),
  );
  const read = (subject: Subject): string => {
    const file = join(subject.workspace, "file.txt");
    writeFileSync(file, "content\n");
    return `read ${subject.absolutePaths ? file : "file.txt"}`;
  };
  await measureUnit(sides, "one read", WARM_BLOCKS, BLOCKS, (subject) =>
    turns(subject, read(subject)),
  );
  await measureUnit(
    sides,
    "ten reads side by side",
    WARM_BLOCKS,
    BLOCKS,
    (subject) => turns(subject, `${read(subject)} x10`),
  );
  await measureUnit(sides, "new task", 1, BLOCKS, async (subject) => {
    const taken: number[] = [];
    for (let index = 0; index < BLOCK_TURNS; index++) {
      taken.push((await newTask(subject)).totalMs);
    }
    return taken;
  });
  for (const { subject, figures } of sides) {
    const { bytes } = await stream(
      subject,
      subject.prompt(`${read(subject)} x10`),
    );
    figures.set("ten reads, KiB on the wire", bytes / 1024);
  }
}

/**
 * Plays blocks of turns against servers in turns: how long a turn takes, and
 * how much of a processor the server needs for it.
 */
async function measureUnit(
  sides: readonly Side[],
  name: string,
  warmBlocks: number,
  blocks: number,
  play: (subject: Subject) => Promise<readonly number[]>,
): Promise<void> {
  await inTurns(sides, warmBlocks, play);
  const samples = new Map(sides.map((side) => [side, new Samples()]));
  await inTurns(sides, blocks, async (subject, side) => {
    const before = subject.processorMs();
    const taken = await play(subject);
    const cpuMs = (subject.processorMs() - before) / taken.length;
    samples.get(side)?.add(`${name}, cpu ms`, cpuMs);
    for (const ms of taken) samples.get(side)?.add(`${name}, ms`, ms);
  });
  for (const [{ figures }, { medians }] of samples) {
    for (const [row, value] of medians()) figures.set(row, value);
  }
}

async function inTurns(
  sides: readonly Side[],
  times: number,
  play: (subject: Subject, side: Side) => Promise<unknown>,
): Promise<void> {
  for (let time = 0; time < times; time++) {
    for (const side of sides) await play(side.subject, side);
  }
}

/** Plays turns of one task, which begins with one of text. */
async function turns(subject: Subject, text: string): Promise<number[]> {
  const first = await stream(subject, subject.prompt("text hello"));
  const taskId = taskIdOf(first);
  const taken: number[] = [];
  for (let turn = 1; turn < BLOCK_TURNS; turn++) {
    const send = { ...subject.prompt(text), taskId };
    taken.push((await stream(subject, send)).totalMs);
  }
  return taken;
}

/** How fast text streams, to one client and to many. */
export async function measureStreams(sides: readonly Side[]): Promise<void> {
  const samples = new Map(sides.map((side) => [side, new Samples()]));
  await inTurns(sides, WARM_STREAMS + BLOCKS, async (subject, side) => {
    const before = subject.processorMs();
    const seen = await stream(subject, subject.prompt(`say ${CHUNKS}`));
    const cpuUs = ((subject.processorMs() - before) * 1000) / CHUNKS;
    const rate = (seen.events / seen.totalMs) * 1000;
    samples.get(side)?.add("an event of 5,000 chunks, cpu µs", cpuUs);
    samples.get(side)?.add("5,000 chunks, events/s", rate);
  });
  for (const [{ subject, figures }, warmed] of samples) {
    for (const [row, value] of warmed.medians(WARM_STREAMS)) {
      figures.set(row, value);
    }
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
}

/** 10 MB of output of one command: what the stream of its exchange costs. */
export async function measureOutput(sides: readonly Side[]): Promise<void> {
  for (const { subject, figures } of sides) {
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
}

/** Values by the name of their row. */
class Samples {
  readonly #values = new Map<string, number[]>();

  add(row: string, value: number): void {
    const values = this.#values.get(row) ?? [];
    this.#values.set(row, values);
    values.push(value);
  }

  /** The median of each row, without its first `skipped` values. */
  readonly medians = (skipped = 0): Figures =>
    new Map(
      [...this.#values].map(([row, values]) => [
        row,
        median(values.slice(skipped)),
      ]),
    );
}
