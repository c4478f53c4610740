/** The messages that the fake app-server reads and writes. */
import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";

export type Json = Record<string, unknown>;

/** The directory of threads and records: `CODEX_HOME`. */
export const home: string = process.env.CODEX_HOME ?? "";
if (home === "") throw new Error("CODEX_HOME: is missing");

/** The requests to the client that wait for a response, by id. */
export const pending = new Map<number, (message: Json) => void>();

let lastNumber = 0;

/** Returns a number that is new in this process, for ids. */
export function nextNumber(): number {
  return ++lastNumber;
}

export function write(message: unknown): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

export function notify(method: string, params: Json): void {
  write({ method, params, emittedAtMs: 1 });
}

/** The file of a thread. */
export function threadFile(threadId: string): string {
  return join(home, `${threadId}.thread`);
}

/** What threads were told, by their ids, since this process has loaded them. */
const memories = new Map<string, string[]>();

/**
 * Returns what a thread was told: as this process knows it, which reads the
 * file once.
 */
export function memoryOf(threadId: string): string[] {
  const known =
    memories.get(threadId) ??
    readFileSync(threadFile(threadId), "utf8").split("\n").filter(Boolean);
  memories.set(threadId, known);
  return known;
}

/** Keeps what a thread was told, for this process and later ones. */
export function remember(threadId: string, text: string): void {
  memoryOf(threadId).push(text);
  appendFileSync(threadFile(threadId), `${text}\n`);
}

export function objectOf(value: unknown): Json {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

export function die(): void {
  process.kill(process.pid, "SIGKILL");
}
