import { APPROVAL_MODES } from "../approval-mode.ts";
import { completeCommand } from "../completion.ts";
import type { ChatTasks } from "./chat-tasks.ts";
import {
  type Choosing,
  commandRefusal,
  LOCAL_COMMANDS,
} from "./local-command.ts";
import { completePath, mentionBefore } from "./mention.ts";

/** The names that the server knows. */
export interface CompletionSource
  extends Pick<ChatTasks, "commands" | "listModels"> {
  readonly choices: Choosing;
}

/**
 * Completes what the user types: commands, names of models and modes, and
 * mentioned files.
 */
export class ChatCompleter {
  readonly #tasks: CompletionSource;
  readonly #workspace: string | undefined;

  /**
   * @param workspace the workspace on this machine; undefined if it is on
   * another one
   */
  constructor(tasks: CompletionSource, workspace: string | undefined) {
    this.#tasks = tasks;
    this.#workspace = workspace;
  }

  /** Returns what the text before the cursor may become. */
  async complete(before: string): Promise<readonly string[]> {
    const path = mentionBefore(before);
    if (path !== undefined) {
      const found =
        this.#workspace === undefined
          ? []
          : await completePath(this.#workspace, path);
      return found.map(
        (each) => `${before.slice(0, before.length - path.length)}${each}`,
      );
    }
    const [, command = "", word = ""] =
      /^(\/(?:model|mode)\s+)(\S*)$/.exec(before) ?? [];
    const { choices, commands } = this.#tasks;
    const offered = LOCAL_COMMANDS.filter(
      ({ name }) => commandRefusal(name, choices) === "",
    );
    if (!offered.some(({ name }) => name === command.slice(1).trim())) {
      const names = offered.map(({ name, argument }) =>
        argument === "" ? name : `${name} `,
      );
      return completeCommand(before, commands, names)[0];
    }
    let names = [...APPROVAL_MODES.keys()];
    if (command.startsWith("/model")) {
      const models = await this.#tasks
        .listModels(AbortSignal.timeout(MODELS_TIMEOUT_MS))
        .catch(() => []);
      // A name is one word of the line, and comes from a server.
      names = models
        .map(({ name }) => name)
        .filter((name) => !/\s|\p{C}/u.test(name));
    }
    return names
      .filter((name) => name.startsWith(word))
      .map((name) => command + name);
  }
}

/** Time in milliseconds after which names of models are not completed. */
const MODELS_TIMEOUT_MS = 10_000;
