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
  const command = (
    word: string,
    description: string,
    reply: (context: CommandContext, signal: AbortSignal) => Promise<string>,
  ): SlashCommand => ({
    path: ["ide", word],
    description,
    arguments: [],
    check: async (_args, context) => ide.refusal(context),
    play: (_args, context) =>
      replyWith(
        async (_request, signal) =>
          ide.refusal(context) ?? (await reply(context, signal)),
      ),
  });
  return [
    {
      ...command(
        "status",
        "Shows which editor the agent is connected to, or why to none",
        (context, signal) => statusOf(ide, context, signal),
      ),
      group: "Shows your editor, and whether this session uses it",
    },
    command(
      "enable",
      "Has this session use your editor again",
      async (context, signal) => {
        await ide.turn(context, "on");
        return await statusOf(ide, context, signal);
      },
    ),
    command(
      "disable",
      "Has this session do without your editor",
      async (context, signal) => {
        await ide.turn(context, "off");
        return await statusOf(ide, context, signal);
      },
    ),
  ];
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
