import { oneLine } from "@devtool/internal/visible-text";
import type { CommandContext } from "@devtool/server/agent";
import type { IdeSession } from "../services.ts";
import type { SlashCommand } from "../slash-command.ts";
import { replyWith } from "../steps.ts";

/**
 * Creates `/ide status`, `/ide enable` and `/ide disable`, for the user whose
 * editors they are.
 */
export function ideCommands(ide: IdeSession): SlashCommand[] {
  const command = (word: string, description: string): SlashCommand => ({
    path: ["ide", word],
    description,
    group: "Shows your editor, and whether this session uses it",
    arguments: [],
    check: async (_args, context) => ide.refusal(context),
    play: (_args, context) =>
      replyWith((_request, signal) => replyTo(ide, word, context, signal)),
  });
  return [
    command(
      "status",
      "Shows which editor the agent is connected to, or why to none",
    ),
    command("enable", "Has this session use your editor again"),
    command("disable", "Has this session do without your editor"),
  ];
}

/** Plays the command `/ide` with a word. Returns the reply. */
export async function replyTo(
  ide: IdeSession,
  word: string,
  context: CommandContext,
  signal: AbortSignal,
): Promise<string> {
  const refusal = ide.refusal(context);
  if (refusal !== undefined) return refusal;
  if (word === "enable") await ide.turn(context, "on");
  if (word === "disable") await ide.turn(context, "off");
  return await statusOf(ide, context, signal);
}

async function statusOf(
  ide: IdeSession,
  context: CommandContext,
  signal: AbortSignal,
): Promise<string> {
  const found = await ide.connect(context, signal);
  if (found.case === "none")
    return `No editor is used: ${oneLine(found.reason)}.`;
  const { editor, showsDiffs, reportsDiagnostics, showsFiles } = found.link;
  const can = [
    "tells what is open",
    ...(showsDiffs ? ["shows proposed changes"] : []),
    ...(reportsDiagnostics ? ["reports errors and warnings"] : []),
    ...(showsFiles ? ["shows files"] : []),
  ];
  return `${oneLine(editor)} is connected. It ${can.join(", ")}.`;
}
