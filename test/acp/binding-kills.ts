import { pendingToolCalls } from "@devtool/client";
import { OPTION_CANCEL, OPTION_PROCEED_ONCE, TaskState } from "@devtool/schema";
import { resultOf } from "./binding-probes.ts";
import { type Conversation, type Exchange, textOf } from "./conversation.ts";
import { afterCrash, runsOf, type Stage } from "./probes.ts";
import { killChildrenOf } from "./processes.ts";

/**
 * An agent behind a server, both of which can be killed, and conversations with
 * it over one binding.
 */
export interface KillStage extends Stage {
  /** The binding, for names of files. */
  readonly binding: string;
  /**
   * Begins a conversation, or continues the one with this id, with the server
   * that runs now.
   */
  converse(contextId?: string): Conversation;
}

/**
 * The tests that kill while a question waits, by the row in docs/agents.md.
 * Each returns the text of a cell. Each has a conversation of its own: what an
 * agent does after a crash depends on what it can load of the one before.
 */
export const BINDING_KILLS: Readonly<
  Record<string, (stage: KillStage) => Promise<string>>
> = {
  async "an answer after `kill -9` of the server"(stage) {
    const { contextId, asking } = await ask(stage, "server-killed");
    await stage.restart();
    return endAfterCrash(
      stage,
      "server-killed",
      stage.converse(contextId),
      asking,
    );
  },
  async "an answer after `kill -9` of the agent"(stage) {
    const { contextId, asking } = await ask(stage, "agent-killed");
    await killChildrenOf(stage.server().info.pid);
    return endAfterCrash(
      stage,
      "agent-killed",
      stage.converse(contextId),
      asking,
    );
  },
  async "a call that is declined after `kill -9` of both does not run"(stage) {
    const { contextId, asking } = await ask(stage, "both-killed");
    await killChildrenOf(stage.server().info.pid);
    await stage.restart();
    const conversation = stage.converse(contextId);
    const open = await conversation.reload(asking, timeout());
    const ended = await conversation.reload(
      await conversation.answer(open, OPTION_CANCEL, timeout()),
      timeout(),
    );
    return resultOf({
      asks: isAsking(asking),
      "asks no more": pendingToolCalls(ended.task).length === 0,
      "does not run": runsOf(stage, fileOf(stage, "both-killed")) === 0,
    });
  },
};

/** How long one turn of a real agent may take, in milliseconds. */
const TURN_MS = 60_000;

/**
 * Begins a conversation in which the agent asks whether it may run a command
 * that leaves one line in a file.
 */
async function ask(
  stage: KillStage,
  name: string,
): Promise<{ contextId: string; asking: Exchange }> {
  const conversation = stage.converse();
  const command = stage.agent.runs(`echo x >> ${fileOf(stage, name)}.txt`);
  const asking = await conversation.say(`${command}\ntext Ended.`, timeout());
  return { contextId: conversation.contextId, asking };
}

/**
 * Answers a question that was open before a crash, and returns the words for
 * what came of it. Throws if the command runs twice.
 */
async function endAfterCrash(
  stage: KillStage,
  name: string,
  conversation: Conversation,
  asking: Exchange,
): Promise<string> {
  const open = await conversation.reload(asking, timeout());
  let ended = await conversation.answer(open, OPTION_PROCEED_ONCE, timeout());
  // Where the agent had said that the call runs, its question ended with it,
  // and the task waits for a message.
  if (isAsking(ended)) {
    ended = await conversation.continue(
      ended,
      "Continue with what you were doing.",
      timeout(),
    );
  }
  if (!isAsking(asking) || ended.events.at(-1)?.state !== TaskState.COMPLETED) {
    return "no";
  }
  return afterCrash(runsOf(stage, fileOf(stage, name)), textOf(ended.events));
}

function isAsking({ events }: Exchange): boolean {
  return events.at(-1)?.state === TaskState.INPUT_REQUIRED;
}

function fileOf({ binding }: KillStage, name: string): string {
  return `${name}-${binding.replace(/\W+/g, "-")}`;
}

function timeout(): AbortSignal {
  return AbortSignal.timeout(TURN_MS);
}
