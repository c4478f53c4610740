import { create } from "@bufbuild/protobuf";
import { SlashCommandSchema } from "@devtool/schema";
import type { Agent } from "@devtool/server";

/**
 * An agent that says its name and where it works, and has a command that does
 * the same.
 */
export function namedAgent(name: string): Agent {
  return {
    about: { name, description: `${name} answers.` },
    open: () => ({
      commands: {
        list: ({ workspacePath }) =>
          Promise.resolve([
            create(SlashCommandSchema, {
              name: "where",
              description: `${name} in ${workspacePath}`,
            }),
          ]),
        check: () => Promise.resolve(undefined),
      },
      createExecutor: () => ({
        async *execute({ task }) {
          yield {
            case: "text",
            value: `${name} answers in ${task.settings?.workspacePath}\n`,
          };
        },
      }),
    }),
  };
}
