import { appendFileSync } from "node:fs";
import { join } from "node:path";
import type { Turn } from "./fake-turn.ts";
import { die, home, type Json, nextNumber } from "./fake-wire.ts";

/**
 * A command that asks before it runs, and runs again after a restart if the
 * user approved it.
 */
export async function runAsking(
  current: Turn,
  command: string,
  more: Json = {},
): Promise<void> {
  const wrapped = `/bin/bash -lc '${command}'`;
  const id = `call_${nextNumber()}`;
  const item = {
    type: "commandExecution",
    id,
    command: wrapped,
    cwd: process.cwd(),
    status: "inProgress",
  };
  current.start({
    ...item,
    processId: null,
    commandActions: [{ type: "unknown", command }],
  });
  const amendment = {
    acceptWithExecpolicyAmendment: { execpolicy_amendment: command.split(" ") },
  };
  const availableDecisions = [
    "accept",
    "acceptForSession",
    amendment,
    "decline",
    "cancel",
  ];
  const asked = {
    itemId: id,
    kind: "command",
    command: wrapped,
    cwd: process.cwd(),
    availableDecisions,
    ...more,
  };
  const { decision } = await current.request(
    "item/commandExecution/requestApproval",
    asked,
  );
  if (more.dies) die();
  if (decision === "decline" || decision === "cancel") {
    current.complete({ ...item, status: "declined" });
  }
  if (decision === "cancel") return current.end("interrupted");
  if (decision === "decline") return say(current, "declined");
  current.note("item/commandExecution/outputDelta", {
    itemId: id,
    delta: "out",
  });
  appendFileSync(join(home, "ran.txt"), `${command}\n`);
  current.complete({
    ...item,
    status: "completed",
    aggregatedOutput: `${JSON.stringify(decision)}\n`,
    exitCode: 0,
  });
}

/**
 * A command that runs without a question, and prints its output in pieces of
 * 1000 characters.
 */
export function runCommand(
  current: Turn,
  command: string,
  exitCode: number,
  output: string,
): void {
  const item = {
    type: "commandExecution",
    id: `call_${nextNumber()}`,
    command,
    cwd: process.cwd(),
    processId: "1",
  };
  current.start({ ...item, status: "inProgress" });
  for (let at = 0; at < output.length; at += 1000) {
    current.note("item/commandExecution/outputDelta", {
      itemId: item.id,
      delta: output.slice(at, at + 1000),
    });
  }
  const status = exitCode === 0 ? "completed" : "failed";
  current.complete({ ...item, status, exitCode, aggregatedOutput: output });
}

/** A message of the agent, which streams word by word. */
export function say(current: Turn, text: string): void {
  const id = `msg_${nextNumber()}`;
  current.start({ type: "agentMessage", id, text: "" });
  for (const delta of text.split(/(?= )/)) {
    current.note("item/agentMessage/delta", { itemId: id, delta });
  }
  current.complete({ type: "agentMessage", id, text });
}

/** Changes of files, which ask before they are made. */
export async function patch(current: Turn, changes: Json[]): Promise<void> {
  const id = `call_${nextNumber()}`;
  current.start({ type: "fileChange", id, changes, status: "inProgress" });
  const { decision } = await current.request(
    "item/fileChange/requestApproval",
    { itemId: id, reason: null },
  );
  const accepted = decision === "accept" || decision === "acceptForSession";
  current.complete({
    type: "fileChange",
    id,
    changes,
    status: accepted ? "completed" : "declined",
  });
  if (decision === "cancel") return current.end("interrupted");
  current.note("turn/diff/updated", { diff: "diff --git a/a.txt b/a.txt\n" });
}
