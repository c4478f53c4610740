import { create } from "@bufbuild/protobuf";
import type { MessageContent } from "@devtool/client";
import { PartSchema, type SlashCommand } from "@devtool/schema";
import { useEffect, useState } from "react";
import type { Attachment } from "./attachments.tsx";
import type { ConsoleClient } from "./console-client.ts";
import type { NewSessionChoice } from "./new-session-fields.tsx";
import { problemText } from "./problem-text.ts";
import type { ForkStart } from "./use-fork.ts";

/** Maximum number of commands that are offered at once. */
const MAX_OFFERED = 8;

/** A slash command as it is typed. */
export interface CommandLine {
  readonly line: string;
  readonly description: string;
}

/** Returns the message for what the user has written, with what was chosen. */
export function messageFor(
  text: string,
  images: readonly Attachment[],
  choice: NewSessionChoice,
  fork?: ForkStart,
): MessageContent {
  const files = images.map(({ name, mediaType, bytes }) => ({
    content: {
      case: "file" as const,
      value: {
        name,
        mediaType,
        source: { case: "bytes" as const, value: bytes },
      },
    },
  }));
  const words =
    text.trim() === ""
      ? []
      : [{ content: { case: "text" as const, value: text } }];
  return {
    message: {
      parts: [...words, ...files].map((part) => create(PartSchema, part)),
    },
    ...settingsOf(choice),
    ...(fork && { messageSettings: { fork } }),
  };
}

/** Returns the conversation of a command, or what a new one is started with. */
function placeOf(contextId: string, choice: NewSessionChoice) {
  return contextId === "" ? settingsOf(choice) : { contextId };
}

function settingsOf({ agent, workspace, model, mode }: NewSessionChoice) {
  return {
    ...(workspace !== "" && { settings: { workspacePath: workspace } }),
    ...((agent !== "" || model !== "" || mode !== 0) && {
      sessionSettings: { agent, model, approvalMode: mode },
    }),
  };
}

/** Whether a text is a slash command, and not a path or a comment. */
export function isCommandLine(text: string): boolean {
  return /^\/[^\s/]+(\s|$)/.test(text);
}

/**
 * Runs a slash command. Returns the task that shows it, or why it did not
 * start.
 */
export async function runCommand(
  client: ConsoleClient,
  line: string,
  contextId: string,
  choice: NewSessionChoice,
): Promise<{ readonly taskId: string; readonly message: string }> {
  const place = placeOf(contextId, choice);
  try {
    const { commands } = await client.commands.getAllSlashCommands(place);
    const command = splitLine(line.slice(1), commands);
    const { result } = await client.commands.runSlashCommand({
      command,
      ...place,
    });
    return {
      taskId: result?.executionId ?? "",
      message: result?.message ?? "",
    };
  } catch (reason) {
    return { taskId: "", message: problemText(reason) };
  }
}

/** Splits a line into the words of a known command and the text after them. */
function splitLine(
  line: string,
  known: readonly SlashCommand[],
): { commandPath: string[]; args: string } {
  const words = line.trim().split(/\s+/);
  let level = known;
  let depth = 0;
  for (const word of words) {
    const found = level.find(({ name }) => name === word);
    if (!found) break;
    depth++;
    level = found.subCommands;
  }
  const count = Math.max(1, depth);
  return {
    commandPath: words.slice(0, count),
    args: line.trim().replace(RegExp(`^(\\S+\\s*){${count}}`), ""),
  };
}

/** Where slash commands are listed for. */
export interface CommandScope {
  readonly client: ConsoleClient;
  /** Empty for a new conversation. */
  readonly contextId: string;
  /** What a new conversation is started with. */
  readonly session: NewSessionChoice;
}

/**
 * Returns the commands that begin with a text, if it is the beginning of one.
 * They are asked for each time that one is begun.
 */
export function useCommands(
  { client, contextId, session }: CommandScope,
  text: string,
): readonly CommandLine[] {
  const { agent, workspace, model, mode } = session;
  const [known, setKnown] = useState<readonly CommandLine[]>([]);
  const isAsked = text.startsWith("/") && !text.includes("\n");
  useEffect(() => {
    if (!isAsked) return;
    const mounted = new AbortController();
    const list = client.commands.getAllSlashCommands(
      placeOf(contextId, { agent, workspace, model, mode }),
      mounted,
    );
    list.then(
      ({ commands }) =>
        setKnown(commands.flatMap((command) => linesOf(command, "/"))),
      () => setKnown([]),
    );
    return () => mounted.abort();
  }, [client, isAsked, contextId, agent, workspace, model, mode]);
  if (!isAsked) return [];
  const found = known.filter(
    ({ line }) => line.startsWith(text) && line !== text.trimEnd(),
  );
  return found.slice(0, MAX_OFFERED);
}

function linesOf(
  { name, description, subCommands }: SlashCommand,
  before: string,
): CommandLine[] {
  const line = `${before}${name}`;
  return [
    { line, description },
    ...subCommands.flatMap((command) => linesOf(command, `${line} `)),
  ];
}
