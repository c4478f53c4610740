import { create } from "@bufbuild/protobuf";
import { SlashCommandSchema } from "@devtool/schema";
import type { Agent } from "../src/agent/agent.ts";

/** An agent that does nothing, and has a nested command that cannot start. */
export const idleAgent: Agent = {
  about: { name: "idle", description: "Does nothing." },
  open: () => ({
    commands: {
      list: async () => [
        create(SlashCommandSchema, {
          name: "memory",
          subCommands: [{ name: "show", description: "Shows it." }],
        }),
      ],
      check: async () => "it never starts",
    },
    createExecutor: () => ({
      modelFor: () => "",
      async *execute() {},
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }),
  }),
};
