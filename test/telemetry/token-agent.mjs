import { create } from "@bufbuild/protobuf";
import { UsageSchema } from "@devtool/schema";

const usage = create(UsageSchema, {
  inputTokens: 1000n,
  cachedTokens: 400n,
  outputTokens: 100n,
  thoughtTokens: 30n,
});

/** An agent that takes tokens. The prompt `steps` has it say what its model does. */
export const agent = {
  about: { name: "own", description: "Takes 1,100 tokens for each message." },
  open: () => ({
    createExecutor: () => ({
      modelFor: () => "m-1",
      async *execute(turn) {
        const isObserved = turn.prompt?.parts[0]?.content.value === "steps";
        const end = isObserved
          ? turn.beginStep("m-1", { provider: "acme" })
          : undefined;
        end?.({ outcome: "succeeded", facts: { usage, firstPieceMs: 20 } });
        if (!isObserved) yield { case: "usage", value: usage };
        yield { case: "text", value: "done" };
      },
    }),
  }),
};
