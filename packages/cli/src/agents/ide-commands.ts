import type { Agent } from "@devtool/server";
import type {
  AgentCommands,
  AgentExecutor,
  AgentServices,
  OpenAgent,
} from "@devtool/server/agent";
import { contextOf, type OperatorIde } from "./user-ide.ts";

/** The first word of the commands. */
const IDE = "ide";

/**
 * Gives an agent of others the commands `/ide status`, `/ide enable` and `/ide
 * disable` of our own agent, in place of commands of its own with that name.
 * The agent hears nothing of them.
 */
export function withIdeCommands(agent: Agent, ide: OperatorIde): Agent {
  const open = async (services: AgentServices): Promise<OpenAgent> => {
    const opened = await agent.open(services);
    const createExecutor = opened.createExecutor.bind(opened);
    return Object.assign(opened, {
      commands: commandsOf(ide, opened.commands),
      createExecutor: (task: Parameters<typeof createExecutor>[0]) =>
        task.command?.commandPath[0] === IDE
          ? playerOf(ide)
          : createExecutor(task),
    });
  };
  return { ...agent, open };
}

function commandsOf(
  ide: OperatorIde,
  own: AgentCommands | undefined,
): AgentCommands {
  return {
    async list(place, signal) {
      const { commands } = await ide.user();
      const others = (await own?.list(place, signal)) ?? [];
      return [
        ...(await commands.list(place, signal)),
        ...others.filter(({ name }) => name !== IDE),
      ];
    },
    async check(request, context, signal) {
      const isIde = request.commandPath[0] === IDE || !own;
      const commands = isIde ? (await ide.user()).commands : own;
      return await commands.check(request, context, signal);
    },
  };
}

/** Plays the command of a task. */
function playerOf(ide: OperatorIde): AgentExecutor {
  return {
    metersCommands: true,
    async *execute({ task, say }, signal) {
      if (!task.command) return;
      const user = await ide.user();
      yield* say(await user.reply(task.command, contextOf(task), signal));
    },
  };
}
