import { create } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { SlashCommandService } from "@devtool/schema";
import type { AgentCard } from "@devtool/schema/a2a-v1";
import type { AgentCard as CardV03 } from "@devtool/schema/a2a-v03";
import { assertKnown } from "../../handler/caller.ts";
import type { RequestHandler } from "../../handler/request-handler.ts";
import { commandSkills } from "../a2a/card.ts";
import { agentCardV1 } from "./card.ts";

/**
 * The callers that get the extended card: authenticated ones, as the standard
 * says (section 13.3), or all that are admitted.
 */
type CardReaders = "known" | "everybody";

/** Options of `extendedCardOf`. */
interface ExtendedCardOptions {
  /** The URL at which clients reach the agent, without a trailing slash. */
  readonly baseUrl: string;

  readonly readers: CardReaders;

  /** Whether the server takes calls over gRPC. */
  readonly grpc: boolean;

  /** The tenant that calls of the agent must name. Default: none. */
  readonly tenant?: string;
}

/**
 * Returns a function that makes the extended card: the public one with a skill
 * for each slash command of the default workspace.
 */
export function extendedCardOf(
  { commands }: RequestHandler,
  card: CardV03,
  { readers, ...reach }: ExtendedCardOptions,
): (context: HandlerContext) => Promise<AgentCard> {
  return async (context) => {
    if (readers === "known") assertKnown(context);
    const request = create(
      SlashCommandService.method.getAllSlashCommands.input,
    );
    const { commands: listed = [] } = await commands.getAllSlashCommands(
      request,
      context,
    );
    const skills = [
      ...card.skills,
      ...listed.flatMap((command) => commandSkills(command, [])),
    ];
    return agentCardV1({ ...card, skills }, reach);
  };
}
