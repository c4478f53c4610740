import { create } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { SlashCommandService } from "@devtool/schema";
import type { AgentCard } from "@devtool/schema/a2a-v1";
import type { AgentCard as CardV03 } from "@devtool/schema/a2a-v03";
import { assertKnown } from "../../handler/caller.ts";
import type { RequestHandler } from "../../handler/request-handler.ts";
import { skillsOf } from "../a2a/command-skills.ts";
import { agentCardV1 } from "./card.ts";

/** Who gets the extended card: callers that we know, as the standard has it (section 13.3), or all that are let in. */
export type CardReaders = "known" | "everybody";

/** Where the agent of an extended card is called, and who gets it. */
interface ExtendedCardOptions {
  readonly baseUrl: string;
  readonly readers: CardReaders;
  /** The tenant that calls of the agent are for. Default: none. */
  readonly tenant?: string;
}

/** The card for who has the token: the public one, and a skill for each slash command of the default workspace. */
export function extendedCardOf(
  { commands }: RequestHandler,
  card: CardV03,
  { baseUrl, readers, tenant = "" }: ExtendedCardOptions,
): (context: HandlerContext) => Promise<AgentCard> {
  return async (context) => {
    if (readers === "known") assertKnown(context);
    const request = create(SlashCommandService.method.getAllSlashCommands.input);
    const { commands: listed = [] } = await commands.getAllSlashCommands(request, context);
    const skills = [...card.skills, ...listed.flatMap((command) => skillsOf(command, []))];
    return agentCardV1({ ...card, skills }, baseUrl, tenant);
  };
}
