/**
 * An agent that publishes what it is told, after asking.
 * `devtool serve --agent ./agent.ts` serves it too.
 */
import { type Agent, Code, DevtoolError } from "@devtool/server";

export const agent: Agent = {
  about: {
    name: "Publisher",
    description: "Publishes what it is told, after asking.",
  },
  open: () => ({
    createExecutor: () => ({
      async *execute(turn, signal) {
        const content = turn.prompt?.parts[0]?.content;
        if (content?.case !== "text") {
          throw new DevtoolError(
            "the message has no text",
            Code.InvalidArgument,
          );
        }
        const text = content.value;
        yield* turn.say(`"${text}" is ready.`);
        const outcome = yield* turn.call(
          {
            toolName: "publish",
            args: { text },
            ask: `Publish "${text}"?`,
            run: () => `${text.length} characters`,
          },
          signal,
        );
        yield* turn.say(
          outcome.case === "succeeded"
            ? `Published: ${outcome.output}.`
            : "Not published.",
        );
      },
    }),
  }),
};
